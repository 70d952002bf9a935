// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "native/job_file.hpp"
#include "native/job_section.hpp"

namespace dtrain::native {

/// Reads [servers.rows]: which ids get rows, and which rows are kept. @throws UsageError with file, line and
/// key
void read_rows(const Section& servers, ModelKind kind, ServerSettings& settings);

}  // namespace dtrain::native
