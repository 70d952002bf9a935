// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "ps/table/sparse_table.hpp"

/// The weights of a table for programs that serve a model: every row, in the order of the ids. Files are
/// there when they are complete. Takes 8 bytes of memory a row.
namespace dtrain::ps {

/// A line "id,w0,w1,..." and then one of each row; floats as the shortest text that gives the same float.
/// @throws Error naming the path
void export_csv(const SparseTable& table, const std::filesystem::path& path);

/// An HDF5 file: `ids` int64 [rows], `weights` float32 [rows, width], and the attribute `table` of the root.
/// @throws Error naming the path
void export_hdf5(const SparseTable& table, const std::filesystem::path& path);

}  // namespace dtrain::ps
