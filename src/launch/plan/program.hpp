// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options/options.hpp"

namespace dtrain::launch {

/// File queries that a plan needs.
struct FileQuestions {
    std::function<bool(const std::string& path)> exists;
    std::function<bool(const std::string& path)> executable;
    std::function<std::optional<std::string>(const std::string& name)> in_path;
};

/// Answers the queries from this machine's files and the PATH of `environment`, which must outlive the
/// result.
FileQuestions real_files(const Environment& environment);

/// What each rank executes for a script: .py -> python3 -u, .toml -> the native trainer, anything else is
/// executed itself (searched in PATH, then in the current folder). Pure except for `files`.
/// @throws UsageError if there is no such script, or it cannot be executed.
std::vector<std::string> program_for(const std::string& script, const std::vector<std::string>& arguments,
                                     const std::string& native_program, const FileQuestions& files);

/// The same if dtrain-run starts the job: its interpreter, the script, the script's arguments.
/// @pre options.torch
/// @throws UsageError if there is no such interpreter, script or program
std::vector<std::string> program_of_torch_run(const Options& options, const FileQuestions& files);

/// Either of them with this job's options and this machine's files.
std::vector<std::string> program_of(const Options& options, const Environment& environment);

/// Absolute path of one of dtrain's own files, given relative to the prefix: "bin/dtrain-worker".
std::string installed(const std::string& below_prefix);

}  // namespace dtrain::launch
