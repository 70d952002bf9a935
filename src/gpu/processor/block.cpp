// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/processor/block.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "base/work_team.hpp"
#include "gpu/processor/launch.hpp"

namespace dtrain::gpu {
namespace {

unsigned threads_of_a_block() {
    const char* value = std::getenv("DTRAIN_GPU_STAND_IN_THREADS");
    if (value == nullptr || *value == '\0') return 1;
    const auto threads = parse_int<unsigned>(value);
    if (!threads || *threads < 1)
        throw Error(fmt::format("DTRAIN_GPU_STAND_IN_THREADS is '{}', expected a number above 0", value));
    return *threads;
}

}  // namespace

void run_blocks(std::size_t blocks, const std::function<void(const Block&)>& body) {
    static const auto threads = threads_of_a_block();
    Block::Team team(threads);
    // A thread that waits for the others of its block cannot take a second piece, so each piece needs its own
    // thread.
    thread_local WorkTeam team_of_threads(static_cast<int>(threads));
    team_of_threads.run(threads, [&](std::size_t thread) {
        for (std::size_t number = 0; number < blocks; ++number) {
            const Block block(static_cast<unsigned>(number), static_cast<unsigned>(thread), team);
            body(block);
            block.wait();
        }
    });
}

}  // namespace dtrain::gpu
