// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What a program of docs/checkpoints.md has when it comes to its checkpoints.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/half.hpp>
#include <dtrain/state_checkpoints.hpp>

using namespace dtrain;

void train(Executor& executor, const State& state, const Communicator& communicator, std::int64_t steps,
           const std::map<std::string, std::string>& job, std::vector<float>& weight,
           std::vector<float>& moment, void* data, std::size_t count) {
    {
        // the block
    }
}
