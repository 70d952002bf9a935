// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/processor/block.hpp"

#include <thread>

#include "gpu/processor/launch.hpp"

namespace dtrain::gpu {
namespace {

unsigned threads_of_a_block = 1;

}  // namespace

void set_threads_of_a_block(unsigned threads) {
    threads_of_a_block = threads;
}

void run_block(unsigned number, const std::function<void(const Block&)>& body) {
    Block::Team team(threads_of_a_block);
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads_of_a_block; ++thread)
        others.emplace_back([&, thread] { body(Block(number, thread, team)); });
    body(Block(number, 0, team));
}

}  // namespace dtrain::gpu
