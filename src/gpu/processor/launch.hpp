// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <typeinfo>

#include "gpu/processor/block.hpp"
#include "gpu/stream.hpp"

namespace dtrain::gpu {

/// Enqueues the work, or adds it to the graph that is being captured.
void give(const Stream& stream, std::string name, std::function<void()> work);

/// Name of a body's type, without namespaces.
std::string name_of(const std::type_info& body);

/// Calls body(block) for one block after the other, each with the number of threads given by the environment
/// variable DTRAIN_GPU_STAND_IN_THREADS, by default one.
void run_blocks(std::size_t blocks, const std::function<void(const Block&)>& body);

template <class Body>
void for_each(const Stream& stream, std::size_t count, const Body& body) {
    give(stream, name_of(typeid(Body)), [count, body] {
        for (std::size_t i = 0; i < count; ++i) body(i);
    });
}

template <class Body>
void launch(const Stream& stream, std::size_t blocks, unsigned /*threads*/, const Body& body) {
    give(stream, name_of(typeid(Body)), [blocks, body] { run_blocks(blocks, body); });
}

}  // namespace dtrain::gpu
