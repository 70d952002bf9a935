// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>

/// The file of --report.
namespace dtrain::launch {

/// Checks before the job runs that its report can be written, by writing a file beside it.
/// @throws UsageError naming the reason
void check_report_file(const std::string& file);

/// Replaces the file. Errors are only logged, so as not to hide how the job ended.
void write_report_file(const std::string& file, const std::string& text, mode_t mode);

}  // namespace dtrain::launch
