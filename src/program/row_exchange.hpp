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

#include "kernels/kernel.hpp"
#include "kernels/row_merger.hpp"
#include "program/exchanged_rows.hpp"
#include "program/staged_rows.hpp"
#include "program/virtual_tree.hpp"

namespace dtrain::program {

/// Adds sparse gradients over batches and ranks. Every rank gets all rows that any batch has, and adds those
/// of one number in the order of the batches: the first rank's first one first. So all ranks have the same
/// bits, and, where batches are virtual ranks, any number of ranks has them.
class RowExchange {
  public:
    /// @param batches of this rank, from `begin` up to `end` of all that are added
    /// @param all that are added; each gradient's sum has room for as many times the rows of one batch
    /// @param staged where this process cannot reach the gradients: `gradients` are its copies; may be null
    RowExchange(Communicator communicator, TreeNode batches, int all, std::vector<ExchangedRows> gradients,
                std::unique_ptr<StagedRows> staged = nullptr);

    /// The next batch is the first one, whatever has been taken.
    void start();

    /// Takes what the batch has made. @throws Error when all batches of this rank have been taken, or as
    /// StagedRows::take()
    void collect();

    /// Makes the sums, and is ready for the next batches then. Collective.
    void finish();

    /// The share of a gradient's rows that this rank updates where a node's ranks have one copy of the
    /// parameters: numbers of places in `rows`, made by finish().
    const kernels::ElementRange* share_of(std::string_view gradient) const;

    int collected() const { return collected_; }

  private:
    struct Table {
        ExchangedRows exchanged;
        std::size_t width = 0;
        kernels::RowMerger<float> merger;
        std::vector<kernels::RowList<float>> lists = {};  ///< from all batches
        kernels::ElementRange share = {};
    };

    std::size_t counts_per_rank() const { return static_cast<std::size_t>(max_batches_) * tables_.size(); }
    std::size_t max_block() const;
    void find_lists(std::span<const std::byte> block, std::span<const std::int64_t> counts);

    Communicator communicator_;
    int batches_;      ///< of this rank
    int max_batches_;  ///< of any rank
    int collected_ = 0;
    std::unique_ptr<StagedRows> staged_;
    std::vector<Table> tables_;
    // A block has, batch by batch and table by table, the numbers of rows and the rows.
    std::vector<std::byte> block_;
    std::size_t block_bytes_ = 0;
    std::vector<std::byte> blocks_;         ///< of all ranks
    std::vector<std::int64_t> counts_;      ///< rows of each list in the block; 0 where there is no batch
    std::vector<std::int64_t> all_counts_;  ///< of all ranks
};

}  // namespace dtrain::program
