// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "gpu/operators/give.hpp"

namespace dtrain::gpu {

/// Calls body(i) for each i below count, in one block.
template <class Body>
struct Each {
    std::size_t count;
    Body body;
    ON_GPU void operator()(const Block& block) const {
        for (std::size_t i = block.thread(); i < count; i += block.threads()) body(i);
    }
};

/// Runs bodies of one block one after the other: each sees what the earlier ones wrote.
template <class... Bodies>
struct InTurn;

template <class Last>
struct InTurn<Last> {
    Last last;
    ON_GPU void operator()(const Block& block) const { last(block); }
};

template <class First, class... Rest>
struct InTurn<First, Rest...> {
    First first;
    InTurn<Rest...> rest;
    ON_GPU void operator()(const Block& block) const {
        first(block);
        block.wait();
        rest(block);
    }
};

}  // namespace dtrain::gpu
