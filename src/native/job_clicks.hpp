// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "native/job_file.hpp"
#include "native/job_section.hpp"

namespace dtrain::native {

/// The keys of [data] that only click-through jobs have.
std::vector<std::string> click_keys();

/// Reads [data] of a click-through job: its logs and their format. @throws UsageError with file, line and key
void read_clicks(const Section& data, const std::filesystem::path& folder, Job& job);

}  // namespace dtrain::native
