// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtrain::ps {

/// Which ids of a batch are the same. Keeps its memory from one batch to the next.
class DistinctIds {
  public:
    /// @returns whether an id is there twice; only then ids() and places() have something to say
    bool find_repeated(std::span<const std::int64_t> ids);

    /// Begins a batch that comes in parts.
    /// @param max ids of all its parts together
    void begin(std::size_t max);

    /// The next part; ids() and places() are of all parts so far then.
    /// @returns those of its ids that were not there before, in their order; lives until begin()
    std::span<const std::int64_t> add(std::span<const std::int64_t> ids);

    /// Of a batch in parts, so far.
    bool has_repeated() const { return distinct_.size() < places_.size(); }

    /// Whether the batch in parts has these ids in this order.
    bool is_of(std::span<const std::int64_t> ids) const;

    /// Each id once, in the order in which they come first.
    std::span<const std::int64_t> ids() const { return distinct_; }

    /// For each id of the batch its place in ids().
    std::span<const std::uint32_t> places() const { return places_; }

  private:
    // The place in `slots_` of an id, or of where it would go; a slot has the place of an id in `ids`, or
    // none.
    std::size_t slot_of(std::int64_t id, const std::int64_t* ids) const;

    std::vector<std::uint32_t> slots_;
    std::vector<std::int64_t> distinct_;
    std::vector<std::uint32_t> places_;
};

}  // namespace dtrain::ps
