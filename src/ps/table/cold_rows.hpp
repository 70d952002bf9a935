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
    std::span<const std::byte> bytes;  ///< its memory layout, including the id
    std::uint32_t stamp = 0;           ///< when it last changed: see RowChanges
};

/// Rows of a table on disk. Not thread-safe, except for const functions. Nothing obtained from it may outlive
/// it.
///
/// All functions throw Error naming the folder if the disk fails; modifying functions have then changed
/// nothing.
class ColdRows {
  public:
    virtual ~ColdRows() = default;

    virtual std::uint64_t size() const = 0;

    /// Memory in use.
    virtual std::size_t bytes() const = 0;

    /// @param rows must not be on disk yet; faster if ordered by id
    virtual void put(std::span<const ColdRow> rows) = 0;

    /// @param rows must be on disk; their content is replaced
    virtual void replace(std::span<const ColdRow> rows) = 0;

    /// Calls function(row) for those that are on disk.
    /// @param ids in increasing order, without duplicates
    virtual void read(std::span<const std::int64_t> ids,
                      const std::function<void(const ColdRow&)>& function) const = 0;

    /// @param ids must all be on disk, without duplicates
    virtual void erase(std::span<const std::int64_t> ids) = 0;

    /// Iterates over the rows as of its construction, unaffected by later changes.
    class Cursor {
      public:
        virtual ~Cursor() = default;

        /// The next row; null at the end. Valid until the next call.
        virtual const ColdRow* next() = 0;
    };

    virtual std::unique_ptr<Cursor> cursor() const = 0;
};

/// @param row_bytes size of a row, including its id
/// @throws UsageError if the folder is not writable, or dtrain was built without RocksDB
std::unique_ptr<ColdRows> open_cold_rows(const SpillOptions& options, std::size_t row_bytes);

}  // namespace dtrain::ps
