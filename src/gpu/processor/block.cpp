// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/processor/block.hpp"

#include <cstdlib>
#include <string>
#include <thread>

#include "gpu/processor/launch.hpp"

namespace dtrain::gpu {
namespace {

unsigned threads_of_a_block() {
    const char* told = std::getenv("DTRAIN_GPU_STAND_IN_THREADS");
    return told == nullptr || *told == '\0' ? 1 : static_cast<unsigned>(std::stoul(told));
}

}  // namespace

void run_block(unsigned number, const std::function<void(const Block&)>& body) {
    static const auto threads = threads_of_a_block();
    Block::Team team(threads);
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads; ++thread)
        others.emplace_back([&, thread] { body(Block(number, thread, team)); });
    body(Block(number, 0, team));
}

}  // namespace dtrain::gpu
