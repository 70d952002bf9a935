// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <dtrain/run_main.hpp>

#include "base/files.hpp"
#include "native/machine_info.hpp"
#include "native/run.hpp"
#include "native/worker_manual.hpp"

namespace {

/// The output for an option that dtrain-worker delegates to this program.
std::optional<std::string> text_asked_for(const std::string& arg) {
    constexpr std::string_view completion = "--print-completion=";
    if (arg == "--info" || arg == "--info=json")
        return dtrain::native::machine_info(dtrain::Environment::of_this_process(), arg == "--info=json");
    if (arg == "--print-man") return dtrain::native::manual_page();
    if (arg.starts_with(completion)) return dtrain::native::completion_script(arg.substr(completion.size()));
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
    // dtrain-worker starts this with its own name in argv[0], so that messages name what the user typed.
    const std::string command = argc > 0 ? argv[0] : "dtrain-native";
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return dtrain::run_main(std::filesystem::path(command).filename().string(), [&] {
        if (const auto text = text_asked_for(arguments.empty() ? "" : arguments[0])) {
            dtrain::write_all(STDOUT_FILENO, *text);
            return 0;
        }
        return dtrain::native::run(command, arguments);
    });
}
