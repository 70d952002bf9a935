// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

#include "program/exchanges.hpp"

namespace dtrain::program {

/// Over whom gradients are averaged.
struct Averaged {
    int ranks = 1;                   ///< 0: as many as there are, which share the batches
    int micro_batches = 1;           ///< of each rank
    int batches = 1;                 ///< of all ranks
    bool averages_gradients = true;  ///< false: each batch keeps its own
};

/// A training program that is written again for several batches and ranks, operator by operator.
class ParallelProgram {
  public:
    /// Has the program's variables. Those of sparse gradients become what all batches make together, and get
    /// room for that; what one batch makes has the name local_name().
    ParallelProgram(const Program& program, const std::vector<Exchange>& sparse, const Averaged& averaged);

    /// Appends an operator of the program. The loss's own gradient is divided by the number of batches, so
    /// that sums of gradients are averages, where there are sums; dropout learns which of the batches it
    /// works on.
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
    Names resized_;  // variables whose shape follows from such a sum's
    Program result_;
};

}  // namespace dtrain::program
