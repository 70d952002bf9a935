// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

#include "program/element_chains.hpp"

namespace dtrain::program {

/// A part of a block of memory, in bytes.
struct ByteRange {
    std::size_t begin = 0;
    std::size_t end = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct MemoryPlanOptions {
    bool reuse = false;       ///< variables that are never needed at the same time share memory
    bool skip_grads = false;  ///< but gradients do not
    std::set<std::string, std::less<>> keep = {};  ///< these do not, so that they can be fetched after a step
    ElementChains chains = {};                     ///< of operators that run together
};

/// Where everything lies that a step makes. Gradients that updates read lie first, side by side in buckets,
/// so that one all-reduce sums a bucket where it is; inside of it in the order of their parameters.
struct MemoryPlan {
    std::map<std::string, ByteRange, std::less<>> places;  ///< of all variables that do not persist
    std::vector<ByteRange> buckets;                        ///< of gradients; one where the program has none
    std::size_t exchanged = 0;                             ///< bytes of all buckets, from the beginning on
    std::size_t bytes = 0;
    std::set<std::string, std::less<>> overwritten;  ///< what is gone at the end of a step
};

/// Pure. Placement with reuse is greedy by size: Pisarchyk and Lee, "Efficient memory management for deep
/// neural net inference", 2020, section 5.2.
MemoryPlan plan_memory(const Program& program, const MemoryPlanOptions& options);

}  // namespace dtrain::program
