// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtrain::ps {

/// Finds equal ids in a batch. Reuses its memory for the next batch.
class DistinctIds {
  public:
    /// @returns whether an id occurs twice; ids() and indices() are valid only if so
    bool find_repeated(std::span<const std::int64_t> ids);

    /// Begins a batch that is added in parts.
    /// @param max total number of ids in all parts
    void begin(std::size_t max);

    /// Adds the next part; then ids() and indices() cover all parts so far.
    /// @returns the ids of this part that are new in the batch, in order; valid until begin()
    std::span<const std::int64_t> add(std::span<const std::int64_t> ids);

    /// Whether an id was repeated in the parts so far.
    bool has_repeated() const { return distinct_.size() < indices_.size(); }

    /// Whether the batch added in parts consists of these ids in this order.
    bool is_of(std::span<const std::int64_t> ids) const;

    /// The distinct ids, in order of first occurrence.
    std::span<const std::int64_t> ids() const { return distinct_; }

    /// For each id of the batch its index in ids().
    std::span<const std::uint32_t> indices() const { return indices_; }

  private:
    // The index in `slots_` of an id, or of the empty slot where it would go. A slot holds an index into
    // `ids`, or none.
    std::size_t slot_of(std::int64_t id, const std::int64_t* ids) const;

    std::vector<std::uint32_t> slots_;
    std::vector<std::int64_t> distinct_;
    std::vector<std::uint32_t> indices_;
};

}  // namespace dtrain::ps
