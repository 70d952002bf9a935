// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace dtrain::launch {

/// What dtrain-launch does but for starting a job: its first word says so. --help, shell completion and the
/// manual page are made from this.
struct CommandRow {
    std::string_view name;
    std::string_view arguments;
    std::string_view help;
    std::vector<std::string_view> options;  ///< for completion
};

std::span<const CommandRow> command_table();

}  // namespace dtrain::launch
