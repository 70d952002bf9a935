// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A training program of docs/gpu.md, before an executor runs it.
#include <string>

#include <dtrain/executor.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parallel_env.hpp>
#include <dtrain/passes.hpp>

using namespace dtrain;

void train(const ParallelEnv& env, Program program, const std::string& loss, const State& state) {
    {
        // the block
    }
}
