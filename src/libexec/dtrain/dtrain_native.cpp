// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include "base/run_main.hpp"
#include "worker/native/run.hpp"

int main(int argc, char** argv) {
    // dtrain-worker starts this with its own name in argv[0], so that messages name what the user typed.
    const std::string command = argc > 0 ? argv[0] : "dtrain-native";
    return dtrain::run_main(std::filesystem::path(command).filename().string(), [&] {
        return dtrain::native::run(command, std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    });
}
