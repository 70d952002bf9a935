// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "metrics/run.hpp"

namespace dtrain::metrics {

/// The runs that a page (--report FILE.html), a run_json(), or lines of JSON (--metrics) tell of. Lines may
/// be of several: one begins where a training began from the very first epoch; one that went on from a
/// checkpoint belongs to that before, and its seconds come behind it. A last line without an end is left out:
/// somebody may be writing it. Pure.
/// @param file for messages
/// @throws UsageError naming the file, and the line where there is one
std::vector<Run> runs_of_text(std::string_view text, const std::filesystem::path& file);

/// Those of a file. @throws UsageError also when it cannot be read
std::vector<Run> read_runs(const std::filesystem::path& file);

}  // namespace dtrain::metrics
