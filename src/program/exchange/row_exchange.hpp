// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <dtrain/communicator.hpp>

#include "kernels/cpu/row_merger.hpp"
#include "kernels/kernel.hpp"
#include "program/exchange/exchanged_rows.hpp"
#include "program/exchange/staged_rows.hpp"
#include "program/exchange/virtual_tree.hpp"

namespace dtrain::program {

/// Sums sparse gradients over batches and ranks. Every rank receives all rows of all batches, and adds rows
/// of the same number in batch order, starting with the first rank's first batch. So all ranks have bitwise
/// identical results, and, if batches are virtual ranks, so does any number of ranks.
class RowExchange {
  public:
    /// @param batches of this rank, from `begin` up to `end` of all batches @param all number of all batches;
    /// each gradient's sum has room for that many times the rows of one batch @param staged copies if this
    /// process cannot access the gradients: `gradients` are then the copies; may be null
    RowExchange(Communicator communicator, TreeNode batches, int all, std::vector<ExchangedRows> gradients,
                std::unique_ptr<StagedRows> staged = nullptr);

    /// Starts over with this rank's first batch, whatever has been collected.
    void start();

    /// Collects the gradients of a batch. @throws Error if all batches of this rank have been collected, or
    /// as StagedRows::take()
    void collect();

    /// Computes the sums; the next batches may follow. Collective.
    void finish();

    /// The shard of a gradient's rows that this rank updates if a node's ranks share one copy of the
    /// parameters: a range of positions in `rows`, set by finish().
    const kernels::ElementRange* shard_of(std::string_view gradient) const;

    int collected() const { return collected_; }

  private:
    struct Table {
        ExchangedRows exchanged;
        std::size_t width = 0;
        kernels::RowMerger<float> merger;
        std::vector<kernels::RowList<float>> lists = {};  ///< from all batches
        kernels::ElementRange shard = {};
    };

    std::size_t counts_per_rank() const { return static_cast<std::size_t>(max_batches_) * tables_.size(); }
    std::size_t max_block() const;
    void find_lists(std::span<const std::byte> block, std::span<const std::int64_t> counts);

    Communicator communicator_;
    int batches_;      ///< of this rank
    int max_batches_;  ///< maximum over the ranks
    int collected_ = 0;
    std::unique_ptr<StagedRows> staged_;
    std::vector<Table> tables_;
    // A block contains, batch by batch and table by table, the row numbers and the rows.
    std::vector<std::byte> block_;
    std::size_t block_bytes_ = 0;
    std::vector<std::byte> blocks_;         ///< of all ranks
    std::vector<std::int64_t> counts_;      ///< rows of each list in the block; 0 if there is no batch
    std::vector<std::int64_t> all_counts_;  ///< of all ranks
};

}  // namespace dtrain::program
