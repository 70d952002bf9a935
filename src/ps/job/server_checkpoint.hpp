// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "ps/job/server_plan.hpp"

namespace dtrain::ps {

/// This server's part of what any number of servers have saved.
/// @throws UsageError naming the file that is missing, damaged or of another model
ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder);

}  // namespace dtrain::ps
