// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::ps {

/// What the files of sparse tables in a folder say of themselves, for people: each table's rows, bytes,
/// settings, day and counts, and its files, by their headers alone. A file that cannot be read is listed with
/// the reason; no lines at all when there are no such files.
std::string describe_tables(const std::filesystem::path& folder);

}  // namespace dtrain::ps
