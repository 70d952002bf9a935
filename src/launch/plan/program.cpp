// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/program.hpp"

#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

void require_script(const std::string& script, const FileQuestions& files) {
    if (!files.exists(script)) throw UsageError(fmt::format("training script \"{}\" not found", script));
}

std::string executable_for(const std::string& script, const FileQuestions& files) {
    if (const auto found = files.in_path(script)) return *found;
    const bool bare_name = script.find('/') == std::string::npos;
    const std::string path = bare_name ? "./" + script : script;
    if (bare_name && files.executable(path)) return path;
    if (files.exists(path))
        throw UsageError(
            fmt::format("\"{}\" is not executable; chmod +x it, or name its interpreter before it", script));
    throw UsageError(
        fmt::format("training script \"{}\" not found{}", script, bare_name ? " here or in PATH" : ""));
}

}  // namespace

std::vector<std::string> program_for(const std::string& script, const std::vector<std::string>& arguments,
                                     const std::string& native_program, const FileQuestions& files) {
    std::vector<std::string> argv;
    if (script == "run_check" && !files.exists(script))
        argv = {native_program};  // Paddle's self test: the built-in example replaces it
    else if (script.ends_with(".py") || script.ends_with(".toml")) {
        require_script(script, files);
        if (script.ends_with(".py"))
            argv = {"python3", "-u", script};
        else
            argv = {native_program, script};
    } else {
        argv = {executable_for(script, files)};
    }
    append(argv, arguments);
    return argv;
}

std::vector<std::string> program_of_torch_run(const Options& options, const FileQuestions& files) {
    auto argv = options.torch->interpreter;
    if (argv.empty()) {
        argv = {executable_for(options.script, files)};
    } else {
        if (!files.in_path(argv.front()))
            throw UsageError(fmt::format(
                "no Python: there is no \"{}\"; set PYTHON_EXEC, or give --no-python", argv.front()));
        if (options.torch->script_is_file) require_script(options.script, files);
        argv.push_back(options.script);
    }
    append(argv, options.script_arguments);
    return argv;
}

FileQuestions real_files(const Environment& environment) {
    return {.exists = [](const std::string& path) { return std::filesystem::is_regular_file(path); },
            .executable =
                [](const std::string& path) {
                    return std::filesystem::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
                },
            .in_path = [&environment](const std::string& name) { return find_in_path(name, environment); }};
}

std::vector<std::string> program_of(const Options& options, const Environment& environment) {
    if (options.torch) return program_of_torch_run(options, real_files(environment));
    return program_for(options.script, options.script_arguments, installed("libexec/dtrain/dtrain-native"),
                       real_files(environment));
}

std::string installed(const std::string& below_prefix) {
    return (this_executable().parent_path().parent_path() / below_prefix).string();
}

}  // namespace dtrain::launch
