// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>

/// The file of --report.
namespace dtrain::launch {

/// Finds out before the job runs that its report could not be written, by writing beside it.
/// @throws UsageError telling why
void check_report_file(const std::string& file);

/// Replaces the file. What goes wrong is logged and does not hide how the job ended.
void write_report_file(const std::string& file, const std::string& text, mode_t mode);

}  // namespace dtrain::launch
