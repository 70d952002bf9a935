// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <sys/types.h>

#include "trace/torch_record.hpp"

namespace dtrain::worker {

/// Writes all operations that a rank's processes have left in their logs into a file for people.
/// @param operations folder of the logs
/// @returns why the file could not be written; "": it was
std::string dump_operations(const std::filesystem::path& operations, const std::filesystem::path& file,
                            mode_t mode);

/// Appends what torch has recorded in a rank's processes to that file, if it can be written.
void append_torch_operations(const std::map<pid_t, trace::TorchRecord>& records,
                             const std::filesystem::path& file, mode_t mode);

}  // namespace dtrain::worker
