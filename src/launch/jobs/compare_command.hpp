// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// `dtrain-launch compare --output FILE.html [NAME=]RUN [NAME=]RUN...`: a page of several runs.
namespace dtrain::launch {

bool is_compare_command(const std::vector<std::string>& arguments);

int run_compare_command(const std::vector<std::string>& arguments);

/// What tells files apart: the parts of their paths without those that all have at the beginning and at the
/// end, and without the extension where they are different without it. Pure.
std::vector<std::string> names_of_files(const std::vector<std::filesystem::path>& files);

}  // namespace dtrain::launch
