// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that test_session.cpp starts under mpirun: how MPI ends when ranks fail.
#include <cstdio>
#include <string>

#include <dtrain/communicator.hpp>

namespace {

int body(const std::string& scenario) {
    const dtrain::MpiSession session;
    const auto& world = session.world();
    if (scenario == "well") return 0;
    if (scenario == "together") {
        dtrain::throw_together(world, world.rank() == world.size() - 1
                                          ? std::optional<std::string>("the last rank cannot")
                                          : std::nullopt);
    }
    // alone: the last rank throws while the others wait for it
    if (world.rank() == world.size() - 1) throw dtrain::Error("one rank fails");
    world.barrier();
    return 0;
}

}  // namespace

int main(int, char** argv) {
    try {
        return body(argv[1]);
    } catch (const dtrain::UsageError& error) {
        std::fprintf(stderr, "agreed: %s\n", error.what());
        return 2;
    } catch (const dtrain::Error& error) {
        std::fprintf(stderr, "caught: %s\n", error.what());
        dtrain::abort_job(7);
    }
}
