// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/table/row_arena.hpp"
#include "ps/table/row_changes.hpp"
#include "ps/table/row_set.hpp"

namespace dtrain::ps {

/// Finds rows that were not used lately, with one bit per row: a hand cycles over all rows, clears the bit of
/// those that have it, and picks those that do not (second chance, Corbato's clock, 1968). A newly inserted
/// row has no bit, so rows that are used only once are evicted first.
class ClockHand {
  public:
    explicit ClockHand(std::size_t arenas) : used_(arenas) {}

    void use(const RowLocation& location) { used_[location.arena].insert(location.number); }

    /// The next `count` unused rows; fewer if there are fewer rows. Their bits are cleared.
    std::vector<RowLocation> pick(std::uint64_t count, std::span<const RowArena> arenas);

    std::size_t bytes() const;

  private:
    std::vector<RowSet> used_;  // per arena
    RowLocation at_;
};

}  // namespace dtrain::ps
