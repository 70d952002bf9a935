// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <dtrain/run_main.hpp>

#include "launch/run_launch.hpp"
#include "launch/run_torchrun.hpp"

int main(int argc, char** argv) {
    const bool as_torchrun = argc > 0 && std::filesystem::path(argv[0]).filename() == "dtrain-run";
    const auto run = as_torchrun ? dtrain::launch::run_torchrun : dtrain::launch::run_launch;
    return dtrain::run_main(as_torchrun ? "dtrain-run" : "dtrain-launch", [&] {
        return run({argv + 1, argv + argc}, dtrain::Environment::of_this_process());
    });
}
