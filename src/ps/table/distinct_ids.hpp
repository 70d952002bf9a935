// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dtrain::ps {

/// Which ids of a batch are the same. Keeps its memory from one batch to the next.
class DistinctIds {
  public:
    /// @returns whether an id is there twice; only then the functions below have something to say
    bool find_repeated(std::span<const std::int64_t> ids);

    /// Each id once, in the order in which they come first.
    std::span<const std::int64_t> ids() const { return distinct_; }

    /// For each id of the batch its place in ids().
    std::span<const std::uint32_t> places() const { return places_; }

  private:
    // The place in `slots_` of an id, or of where it would go; a slot has the place of an id in `ids`, or
    // none.
    std::size_t slot_of(std::int64_t id, std::span<const std::int64_t> ids) const;
    void list_distinct(std::span<const std::int64_t> ids);

    std::vector<std::uint32_t> slots_;
    std::vector<std::int64_t> distinct_;
    std::vector<std::uint32_t> places_;
};

}  // namespace dtrain::ps
