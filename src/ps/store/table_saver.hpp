// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/background.hpp"
#include "ps/store/table_header.hpp"
#include "ps/table/sparse_table.hpp"
#include "storage/block_stream.hpp"

namespace dtrain::ps {

/// Limits of the server memory that a save uses, besides two bits per row and a copy of the touch counters.
struct SaveMemory {
    std::size_t block_bytes = std::size_t{8} << 20U;  ///< a multiple of 4096
    std::size_t blocks = 4;                           ///< maximum number that step() fills ahead of the disk
    /// Maximum including blocks for rows that change before they are saved. If all blocks wait for the disk,
    /// the change waits too.
    std::size_t max_blocks = 16;
};

struct SaveRequest {
    std::filesystem::path folder;  ///< must exist
    std::string checkpoint;        ///< name of the checkpoint; for people
    WhichRows which = WhichRows::all;
    std::int64_t step = 0;  ///< the job's step
};

/// State of a TableSaver's save in progress. Not nested in the class, because clang cannot default-construct
/// a nested struct with member initializers there.
struct SaveInProgress {
    std::filesystem::path path;
    TableHeader header;
    TableLayout layout;
    std::vector<std::uint8_t> touches;
    std::size_t next_block = 0;  // next block without rows for step() to fill
    std::size_t row_block = 0;   // block that is being filled with rows
    std::size_t rows_in_block = 0;
    std::byte* buffer = nullptr;       // of row_block, if any
    std::vector<std::size_t> written;  // block indices in the order passed to the writer
    bool is_out_of_memory = false;
    std::optional<storage::BlockWriter> writer;
    Background<TableFile> file;
    std::optional<TableFile> info;
};

/// Saves one server's part of a table as of one moment, while the table stays in use:
///
///     saver.begin({folder, "epoch-000012", WhichRows::changed, step});  // all, unless knows_changes()
///     while (saver.step() != SaveProgress::taken) { ... }  // handle messages; wait if the disk is behind
///     while (!saver.is_written()) { ... }
///     file = saver.finish();  // for the manifest
///     saver.commit();         // once the checkpoint is in its final place
///
/// All functions must be called from the thread that owns the table.
class TableSaver : private RowSink {
  public:
    /// @param table must outlive the saver and must not move
    /// @param saved the save that the table was loaded from, to be able to save changes relative to it
    TableSaver(SparseTable& table, const ServerShard& shard, std::optional<TableFile> saved = std::nullopt,
               const SaveMemory& memory = {});
    /// Calls abandon() if a save is in progress.
    ~TableSaver() override;
    TableSaver(const TableSaver&) = delete;
    TableSaver& operator=(const TableSaver&) = delete;

    /// Whether WhichRows::changed is possible: the table was saved before or loaded from a save, and tracks
    /// its changes.
    bool knows_changes() const { return saved_.has_value() && table_.changes().has_base(); }

    /// Begins to save the table in its current state.
    /// @throws Error naming the file if there is no space for it, or it cannot be created; then no save is in
    /// progress
    void begin(const SaveRequest& request);

    enum class Progress { working, waiting_for_disk, taken };

    /// Saves about this many more bytes of rows; for moments when the server is idle. Does not block, except
    /// to read rows that the table has on disk. @throws Error if those cannot be read
    Progress step(std::size_t bytes = std::size_t{256} << 10U);

    bool is_in_progress() const { return save_.has_value(); }

    /// Whether finish() returns without waiting.
    bool is_written() const;

    /// Saves the rest, and waits until everything is on disk and synced.
    /// @throws Error naming the file; the save is then abandoned
    TableFile finish();

    /// Confirms that the file returned by finish() is safe: changes are tracked relative to it from now on.
    void commit();

    /// Gives up the save: the rows that it would have saved still count as changed.
    void abandon();

  private:
    void take(std::span<const std::byte> rows) noexcept override;
    void make_file() const;
    void write_block(std::size_t block, std::byte* buffer);
    void fill(const StoredBlock& block, std::byte* buffer) const;
    Progress step(std::size_t bytes, bool may_wait);
    static TableFile complete(SaveInProgress& save);

    SparseTable& table_;
    ServerShard shard_;
    SaveMemory memory_;
    std::optional<TableFile> saved_;
    std::optional<SaveInProgress> save_;
};

}  // namespace dtrain::ps
