// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/files.hpp"
#include "base/run_main.hpp"
#include "worker/native/machine_info.hpp"
#include "worker/native/run.hpp"

int main(int argc, char** argv) {
    // dtrain-worker starts this with its own name in argv[0], so that messages name what the user typed.
    const std::string command = argc > 0 ? argv[0] : "dtrain-native";
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return dtrain::run_main(std::filesystem::path(command).filename().string(), [&] {
        if (!arguments.empty() && (arguments[0] == "--info" || arguments[0] == "--info=json")) {
            const auto environment = dtrain::Environment::of_this_process();
            dtrain::write_all(STDOUT_FILENO,
                              dtrain::native::machine_info(environment, arguments[0] == "--info=json"));
            return 0;
        }
        return dtrain::native::run(command, arguments);
    });
}
