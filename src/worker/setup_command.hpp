// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::worker {

/// `argv` behind shell commands that prepare its environment, such as "module load cuda". The shell becomes
/// the program; when one of the commands fails it ends with that command's status instead.
std::vector<std::string> with_setup(const std::string& commands, const std::vector<std::string>& argv);

}  // namespace dtrain::worker
