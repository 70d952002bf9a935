// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "worker/native/job_file.hpp"
#include "worker/native/job_section.hpp"

namespace dtrain::native {

/// The keys of [data] that a click-through job alone has.
std::vector<std::string> click_keys();

/// [data] of a click-through model: its logs, and how they are written. @throws UsageError with file, line
/// and key
void read_clicks(const Section& data, const std::filesystem::path& folder, Job& job);

}  // namespace dtrain::native
