// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::worker {

/// Runs shell commands that prepare the environment, such as "module load cuda", before `argv`. The shell
/// then execs the program; if one of the commands fails, it exits with that command's status instead.
std::vector<std::string> with_setup(const std::string& commands, const std::vector<std::string>& argv);

}  // namespace dtrain::worker
