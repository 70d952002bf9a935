// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A main function with a training program.
#include <dtrain/executor.hpp>
#include <dtrain/parallel_env.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/transpiler.hpp>

int run(int argc, char** argv, const dtrain::Program& program) {
    {
        // the block
    }
    return 0;
}
