// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

#include "program/passes/element_chains.hpp"

namespace dtrain::program {

/// A range of bytes of a block of memory.
struct ByteRange {
    std::size_t begin = 0;
    std::size_t end = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct MemoryPlanOptions {
    bool reuse = false;       ///< variables that are never needed at the same time share memory
    bool skip_grads = false;  ///< except gradients
    std::set<std::string, std::less<>> keep = {};  ///< not these: they can be fetched after a step
    ElementChains chains = {};                     ///< of operators that run together
};

/// Memory layout of all variables that a step computes. Gradients that updates read come first, contiguous in
/// buckets, so that one all-reduce sums a bucket in place; within a bucket they are in the order of their
/// parameters.
struct MemoryPlan {
    std::map<std::string, ByteRange, std::less<>> ranges;  ///< of all variables that are not persistable
    std::vector<ByteRange> buckets;                        ///< of gradients; one if the program has none
    std::size_t exchanged = 0;                             ///< bytes of all buckets, from the beginning on
    std::size_t bytes = 0;
    std::set<std::string, std::less<>> overwritten;  ///< variables that are overwritten by the end of a step
};

/// Pure. Placement with reuse is greedy by size: Pisarchyk and Lee, "Efficient memory management for deep
/// neural net inference", 2020, section 5.2.
MemoryPlan plan_memory(const Program& program, const MemoryPlanOptions& options);

}  // namespace dtrain::program
