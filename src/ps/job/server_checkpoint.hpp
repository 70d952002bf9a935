// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "ps/job/server_plan.hpp"

namespace dtrain::ps {

/// This server's part of what any number of servers have saved, in that folder and in those beside it that it
/// needs: of these the files of tables are read.
/// @throws UsageError naming the file that is missing, damaged, of another model or of another chain of
/// saves; Error when the rows cannot be
ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder);

}  // namespace dtrain::ps
