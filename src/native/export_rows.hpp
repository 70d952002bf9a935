// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dtrain::native {

/// Exports the weights of a table of ids from a checkpoint of parameter servers, for programs that serve the
/// model. The suffix of the file selects ps::export_csv() or ps::export_hdf5(). The table must fit into
/// memory.
/// @param table its name; nothing: the only table
/// @returns one line about what was written
/// @throws UsageError if the suffix is unknown, or the checkpoint has no such table, cannot be read or is
/// damaged; Error if the file cannot be written
std::string export_rows(const std::filesystem::path& checkpoint, const std::optional<std::string>& table,
                        const std::filesystem::path& file);

}  // namespace dtrain::native
