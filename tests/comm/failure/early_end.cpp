// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that tests/jobs start: early_end HOW, where rank 0 is lost before it has called any operation,
// while the others wait for it; "unborn": stopped before MPI's start. It says errors in words of its own.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

#include <dtrain/error.hpp>
#include <dtrain/parallel_env.hpp>

namespace {

void lose(const std::string& how) {
    if (how == "stopped") ::raise(SIGSTOP);
    if (how == "killed") ::raise(SIGKILL);
    if (how == "leaves") ::_exit(0);
    if (how == "fails") ::_exit(3);
    if (how == "loops")
        for (volatile long turns = 0;;) turns = turns + 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
        if (std::string(argv[1]) == "unborn" && rank != nullptr && *rank == '0') ::raise(SIGSTOP);
        const dtrain::ParallelEnv env(argc, argv);
        if (env.rank() == 0) lose(argv[1]);
        std::vector<float> values(1000, 1.0F);
        env.communicator().allreduce(std::span(values));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "early_end: %s\n", error.what());
        return 1;
    }
}
