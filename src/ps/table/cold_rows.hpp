// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "ps/table/spill_options.hpp"

namespace dtrain::ps {

/// A row that is not in memory.
struct ColdRow {
    std::span<const std::byte> bytes;  ///< as it lies in memory, its id included
    std::uint32_t stamp = 0;           ///< when it changed last: see RowChanges
};

/// Rows of a table on disk. Not for several threads at once, but for const functions. Nothing of them
/// outlives this.
///
/// All functions throw Error naming the folder when the disk fails; those that change something have changed
/// nothing then.
class ColdRows {
  public:
    virtual ~ColdRows() = default;

    virtual std::uint64_t size() const = 0;

    /// Memory that it takes.
    virtual std::size_t bytes() const = 0;

    /// @param rows none of which is here; faster in the order of their ids
    virtual void put(std::span<const ColdRow> rows) = 0;

    /// @param rows all of which are here, with another content
    virtual void replace(std::span<const ColdRow> rows) = 0;

    /// Calls function(row) for those that are here.
    /// @param ids in increasing order, each once
    virtual void read(std::span<const std::int64_t> ids,
                      const std::function<void(const ColdRow&)>& function) const = 0;

    /// @param ids that are all here, each once
    virtual void erase(std::span<const std::int64_t> ids) = 0;

    /// Goes over the rows that were here when it was made, whatever becomes of them.
    class Cursor {
      public:
        virtual ~Cursor() = default;

        /// Null when there are no more. What it points to lasts until the next call.
        virtual const ColdRow* next() = 0;
    };

    virtual std::unique_ptr<Cursor> cursor() const = 0;
};

/// @param row_bytes of a row, its id included
/// @throws UsageError when nothing can be written into the folder, or dtrain was built without RocksDB
std::unique_ptr<ColdRows> open_cold_rows(const SpillOptions& options, std::size_t row_bytes);

}  // namespace dtrain::ps
