// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "ps/table/sparse_table.hpp"

/// Exports the weights of a table for programs that serve a model: every row, ordered by id. Files appear
/// only when complete. Needs 8 bytes of memory per row.
namespace dtrain::ps {

/// A header line "id,w0,w1,...", then one line per row; floats are written as the shortest text that parses
/// to the same float.
/// @throws Error naming the path
void export_csv(const SparseTable& table, const std::filesystem::path& path);

/// An HDF5 file: `ids` int64 [rows], `weights` float32 [rows, width], and the attribute `table` of the root
/// group.
/// @throws Error naming the path
void export_hdf5(const SparseTable& table, const std::filesystem::path& path);

}  // namespace dtrain::ps
