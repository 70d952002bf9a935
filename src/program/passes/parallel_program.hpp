// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

#include "program/ir/exchanges.hpp"

namespace dtrain::program {

/// What gradients are averaged over.
struct Averaged {
    int ranks = 1;                   ///< 0: any number; they share the batches
    int micro_batches = 1;           ///< per rank
    int batches = 1;                 ///< over all ranks
    bool averages_gradients = true;  ///< false: each batch keeps its own
};

/// Rewrites a training program for several batches and ranks, operator by operator.
class ParallelProgram {
  public:
    /// Copies the program's variables. Those of sparse gradients become the sums over all batches and are
    /// enlarged for that; the gradient of one batch is called local_name().
    ParallelProgram(const Program& program, const std::vector<Exchange>& sparse, const Averaged& averaged);

    /// Appends an operator of the program. If gradients are averaged, the gradient of the loss itself is
    /// divided by the number of batches, so that sums of gradients are averages; dropout gets the number of
    /// its batch.
    void append(Operator op);

    /// Appends the sum of all sparse gradients, if there are any.
    void append_row_sum(bool one_copy = false);

    /// Appends a sum of dense gradients over ranks, if there are any.
    void append_sum(std::string type, const std::vector<Exchange>& dense, Attributes attributes);

    Program take() && { return std::move(result_); }

  private:
    using Names = std::set<std::string, std::less<>>;

    Averaged averaged_;
    std::vector<Exchange> sparse_;
    Names resized_;  // variables whose shapes depend on such a sum
    Program result_;
};

}  // namespace dtrain::program
