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

/// Which rows have not been used lately, for a bit a row: a hand goes round over all rows, takes the bit from
/// those that have it, and picks those that have none (the second chance of Corbato's clock, 1968). A row
/// that is inserted has no bit: rows that are used once go first.
class ClockHand {
  public:
    explicit ClockHand(std::size_t arenas) : used_(arenas) {}

    void use(const RowPlace& place) { used_[place.arena].insert(place.number); }

    /// The next `count` rows that were not used; fewer when there are fewer rows. They have no bit then.
    std::vector<RowPlace> pick(std::uint64_t count, std::span<const RowArena> arenas);

    std::size_t bytes() const;

  private:
    std::vector<RowSet> used_;  // of each arena
    RowPlace at_;
};

}  // namespace dtrain::ps
