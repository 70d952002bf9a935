// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

namespace dtrain::ps {

/// A table that may be larger than memory: rows that were not used lately lie on a local disk. The rows are
/// those of a table without, bit for bit.
struct SpillOptions {
    std::filesystem::path folder;  ///< on a local disk; the table makes one of its own in it, and removes it
    /// That the table takes: seven eighths for rows and what finds them, one eighth for what finds those on
    /// disk. One batch is in memory as a whole, whatever this says.
    std::size_t memory_bytes = 0;
};

}  // namespace dtrain::ps
