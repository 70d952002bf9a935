// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <dtrain/executor.hpp>
#include <dtrain/passes.hpp>

#include "program/runtime/trained_networks.hpp"
#include "support/test_world.hpp"

/// Training in which the ranks of the world add their gradients.
namespace dtrain::tests {

struct Batches {
    std::size_t part;  ///< samples of a batch of each rank
    int of_update = 1;
};

/// @param loss its name
inline Program parallel_program(const TrainedNetwork& network, const Batches& batches,
                                std::int64_t bucket_bytes, std::string& loss) {
    Program program;
    loss = network.build(program, static_cast<std::int64_t>(batches.part));
    return data_parallel(
        program,
        {.ranks = test_world().size(), .bucket_bytes = bucket_bytes, .micro_batches = batches.of_update});
}

/// Of ranks that take `every` steps by themselves; one model at the end.
inline State train_locally(const TrainedNetwork& network, const ExecutorOptions& options, std::int64_t every,
                           std::size_t steps, std::size_t part) {
    const auto& world = test_world();
    Program program;
    network.build(program, static_cast<std::int64_t>(part));
    program = with_local_sgd(program, {.ranks = world.size(), .every = every});
    State state(program, 5);
    Executor executor(program, state, world, options);
    for (std::size_t step = 0; step < steps; ++step) {
        network.feed(
            executor,
            (step * static_cast<std::size_t>(world.size()) + static_cast<std::size_t>(world.rank())) * part);
        executor.run();
    }
    executor.average_state();
    return state;
}

template <class AfterBatch>
void train_in_parallel(const TrainedNetwork& network, Executor& executor, const Batches& batches,
                       std::size_t steps, const AfterBatch& after_batch) {
    const auto& world = test_world();
    const auto of_all = static_cast<std::size_t>(world.size() * batches.of_update) * batches.part;
    for (std::size_t step = 0; step < steps; ++step) {
        for (int batch = 0; batch < batches.of_update; ++batch) {
            const auto own = static_cast<std::size_t>(world.rank() * batches.of_update + batch);
            network.feed(executor, step * of_all + own * batches.part);
            if (batches.of_update > 1)
                executor.accumulate();
            else
                executor.run();
            after_batch();
        }
        if (batches.of_update > 1) executor.update();
    }
}

}  // namespace dtrain::tests
