// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

#include "program/exchange/gradient_sums.hpp"
#include "program/exchange/virtual_tree.hpp"

namespace dtrain::program {

/// Sums the gradients of virtual ranks in the order of their tree, which is the same for every number of real
/// ranks.
class TreeSum {
  public:
    /// Creates storage for `slots` sums of the gradients.
    using MakeSums = std::function<std::unique_ptr<GradientSums>(std::size_t slots)>;

    /// @param communicator over MPI
    /// @param elements of the gradients of a virtual rank
    TreeSum(Communicator communicator, int virtual_ranks, std::size_t elements, const MakeSums& make_sums);

    /// The virtual ranks of this rank.
    const TreeNode& own() const { return own_; }

    /// Starts over with the first of them, whatever has been added.
    void start();

    /// Adds the gradients of the next virtual rank.
    /// @throws Error if all have been added
    void add();

    /// Sets the gradients to the sum over all virtual ranks, on all ranks; the next sum may follow.
    /// Collective. @throws Error if gradients of some of this rank's virtual ranks are missing, or as
    /// Gpu::finish()
    void finish();

  private:
    using Values = std::vector<float>;

    void add_over_ranks(const std::vector<std::span<const float>>& made);
    void deal_shards(const std::vector<std::span<const float>>& made);
    void evaluate(const TreeNode& node, std::size_t begin, std::size_t count, float* out, std::size_t depth);

    Communicator communicator_;
    TreeNode all_;
    TreeNode own_;
    std::size_t elements_;
    std::vector<int> merges_;
    std::unique_ptr<GradientSums> made_;  ///< the sums of this rank so far, for the maximum at a time
    std::size_t made_count_ = 0;
    int given_ = 0;

    /// Each rank sums a shard of the elements over all ranks.
    struct Part {
        TreeNode node;
        std::size_t begin = 0;  ///< offset in received_
    };
    std::vector<Part> parts_;  ///< by rank
    std::size_t shard_size_;   ///< elements, the same for all ranks: the last ones may have fewer or none
    std::vector<std::size_t> sent_counts_;
    std::vector<std::size_t> received_counts_;
    Values sent_;
    Values received_;
    Values own_sum_;
    Values all_sums_;
    std::vector<Values> scratch_;
};

}  // namespace dtrain::program
