// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/table/distinct_ids.hpp"

namespace dtrain::ps {

/// The distinct ids of the batches of each table that were pulled last: a push usually has the ids of a pull.
class RecentBatches {
  public:
    explicit RecentBatches(std::size_t tables) : tables_(tables) {}

    /// The memory for the next batch of a table.
    DistinctIds& next(std::uint32_t table) {
        auto& [newest, next] = tables_[table];
        return newest[next++ % newest.size()];
    }

    /// The batch that consists of these ids in this order; nullptr if there is none.
    const DistinctIds* find(std::uint32_t table, std::span<const std::int64_t> ids) const {
        for (const auto& batch : tables_[table].newest)
            if (batch.is_of(ids)) return &batch;
        return nullptr;
    }

  private:
    struct Batches {
        std::array<DistinctIds, 2> newest;  ///< one of them may be a prefetch
        std::size_t next = 0;
    };
    std::vector<Batches> tables_;
};

}  // namespace dtrain::ps
