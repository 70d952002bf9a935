// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::ps {

/// Describes the sparse-table files of a folder, for people: each table's rows, bytes, settings, day and
/// counts, and its files. Reads only their headers. A file that cannot be read is listed with the reason; ""
/// if there are no such files.
std::string describe_tables(const std::filesystem::path& folder);

}  // namespace dtrain::ps
