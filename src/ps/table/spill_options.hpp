// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

namespace dtrain::ps {

/// Options of a table that may be larger than memory: rows not used lately are on a local disk. The rows are
/// bit for bit those of a table in memory.
struct SpillOptions {
    /// On a local disk; the table creates its own folder in it, and removes it.
    std::filesystem::path folder;
    /// Memory limit of the table: seven eighths for rows and their index, one eighth for the index of the
    /// rows on disk. One batch is always held in memory as a whole, regardless of the limit.
    std::size_t memory_bytes = 0;
};

}  // namespace dtrain::ps
