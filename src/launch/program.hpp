// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options.hpp"

namespace dtrain::launch {

/// Questions about files that a plan needs answered.
struct FileQuestions {
    std::function<bool(const std::string& path)> exists;
    std::function<bool(const std::string& path)> executable;
    std::function<std::optional<std::string>(const std::string& name)> in_path;
};

/// Answered by this machine's files and the PATH of `environment`, which must outlive the answers.
FileQuestions real_files(const Environment& environment);

/// What each rank executes for a script: .py -> python3 -u, .toml -> the native trainer, anything else is
/// executed itself (looked for in PATH, then in the current folder). Pure but for the answers.
/// @throws UsageError when there is no such script, or it cannot be executed.
std::vector<std::string> program_for(const std::string& script, const std::vector<std::string>& arguments,
                                     const std::string& native_program, const FileQuestions& files);

/// The same for this job, of this machine's files.
std::vector<std::string> program_of(const Options& options, const Environment& environment);

/// A file of dtrain's own, by its path below the prefix: "bin/dtrain-worker".
std::string installed(const std::string& below_prefix);

}  // namespace dtrain::launch
