// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "ps/job/server_plan.hpp"

namespace dtrain::ps {

/// Loads this server's part of what any number of servers have saved in that folder, with the tables also
/// from the sibling folders that it builds on.
/// @throws UsageError naming the file that is missing, damaged, of another model or of another chain of
/// saves; Error if the rows cannot be loaded
ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder);

}  // namespace dtrain::ps
