// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dtrain::native {

/// Writes the weights of a table of ids, as a checkpoint of servers has them, for programs that serve the
/// model: as ps::export_csv() or ps::export_hdf5() do, by the suffix of the file. The table must fit into
/// memory.
/// @param table its name; none: the only one that there is
/// @returns what was written, a line
/// @throws UsageError when the suffix is another one, the checkpoint has no such table, cannot be read or is
/// damaged; Error when the file cannot be written
std::string export_rows(const std::filesystem::path& checkpoint, const std::optional<std::string>& table,
                        const std::filesystem::path& file);

}  // namespace dtrain::native
