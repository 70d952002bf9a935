// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

#include "program/gradient_sums.hpp"
#include "program/virtual_tree.hpp"

namespace dtrain::program {

/// Adds what the virtual ranks give in the order of their tree, which is the same for every number of real
/// ranks.
class TreeSum {
  public:
    /// Makes sums of the gradients: so many at once.
    using MakeSums = std::function<std::unique_ptr<GradientSums>(std::size_t places)>;

    /// @param communicator over MPI
    /// @param elements of what a virtual rank gives
    TreeSum(Communicator communicator, int virtual_ranks, std::size_t elements, const MakeSums& make_sums);

    /// The virtual ranks of this rank.
    const TreeNode& own() const { return own_; }

    /// The next one to give is the first of them, whatever has been given.
    void start();

    /// The gradients are those of the next of them.
    /// @throws Error when all have given
    void add();

    /// The gradients become the sum over all virtual ranks, on all ranks; ready for the next one then.
    /// Collective. @throws Error when some of this rank's have not given, or as Gpu::finish()
    void finish();

  private:
    using Values = std::vector<float>;

    void add_over_ranks(const std::vector<std::span<const float>>& made);
    void deal_shares(const std::vector<std::span<const float>>& made);
    void evaluate(const TreeNode& node, std::size_t begin, std::size_t count, float* out, std::size_t depth);

    Communicator communicator_;
    TreeNode all_;
    TreeNode own_;
    std::size_t elements_;
    std::vector<int> merges_;
    std::unique_ptr<GradientSums> made_;  ///< the sums of this rank so far: all that there can be at once
    std::size_t made_count_ = 0;
    int given_ = 0;

    /// Each rank adds a share of the elements: what all ranks made of them.
    struct Part {
        TreeNode node;
        std::size_t begin = 0;  ///< in received_
    };
    std::vector<Part> parts_;  ///< by rank
    std::size_t share_;        ///< elements, the same for all ranks: the last ones may lack some or all
    std::vector<std::size_t> sent_counts_;
    std::vector<std::size_t> received_counts_;
    Values sent_;
    Values received_;
    Values own_sum_;
    Values all_sums_;
    std::vector<Values> scratch_;
};

}  // namespace dtrain::program
