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
#include "io/block_stream.hpp"
#include "ps/store/table_header.hpp"
#include "ps/table/sparse_table.hpp"

namespace dtrain::ps {

/// What a save may take of the server's memory while it lasts, besides two bits a row and a copy of the touch
/// counters.
struct SaveMemory {
    std::size_t block_bytes = std::size_t{8} << 20U;  ///< a multiple of 4096
    std::size_t blocks = 4;                           ///< that step() fills ahead of the disk
    /// With those for rows that change before their turn. When all are waiting for the disk, the change
    /// waits.
    std::size_t max_blocks = 16;
};

struct SaveRequest {
    std::filesystem::path folder;  ///< is there
    std::string checkpoint;        ///< what the checkpoint is called; for people
    WhichRows which = WhichRows::all;
    std::int64_t step = 0;  ///< of the job
};

/// What a TableSaver keeps of the save that it is at. Not in the class, where clang takes a struct whose
/// members have values for one that cannot be made.
struct SaveInProgress {
    std::filesystem::path path;
    TableHeader header;
    TableLayout layout;
    std::vector<std::uint8_t> touches;
    std::size_t next_block = 0;  // of those that are no rows, to be filled by step()
    std::size_t row_block = 0;   // that rows go to now
    std::size_t rows_in_block = 0;
    std::byte* buffer = nullptr;       // of row_block, when there is one
    std::vector<std::size_t> written;  // the blocks in the order in which the writer got them
    bool is_out_of_memory = false;
    std::optional<io::BlockWriter> writer;
    Background<TableFile> file;
    std::optional<TableFile> info;
};

/// Saves one server's part of a table, as it is at one moment, while the table goes on:
///
///     saver.begin({folder, "epoch-000012", WhichRows::changed, step});  // all, unless knows_changes()
///     while (saver.step() != SaveProgress::taken) { ... }  // messages; nothing when it waits for the disk
///     while (!saver.is_written()) { ... }
///     file = saver.finish();  // for the manifest
///     saver.commit();         // when the checkpoint that it is part of lies in its place
///
/// All functions are for the thread that owns the table.
class TableSaver : private RowSink {
  public:
    /// @param table outlives the saver and does not move
    /// @param saved what the table was loaded from, if changes since are to be saved
    TableSaver(SparseTable& table, const Share& share, std::optional<TableFile> saved = std::nullopt,
               const SaveMemory& memory = {});
    /// abandon(), if it is in progress.
    ~TableSaver() override;
    TableSaver(const TableSaver&) = delete;
    TableSaver& operator=(const TableSaver&) = delete;

    /// Whether WhichRows::changed can be saved: there was a save before, or the table was loaded from one,
    /// and the table tracks its changes.
    bool knows_changes() const { return saved_.has_value() && table_.changes().has_base(); }

    /// Begins to save the table as it is now.
    /// @throws Error naming the file when there is no room for it, or it cannot be made; nothing is in
    /// progress then
    void begin(const SaveRequest& request);

    enum class Progress { working, waiting_for_disk, taken };

    /// Takes about as many more bytes of rows, for a moment in which nobody waits. Never waits itself, but
    /// for rows that the table has on disk. @throws Error when those cannot be read
    Progress step(std::size_t bytes = std::size_t{256} << 10U);

    bool is_in_progress() const { return save_.has_value(); }

    /// Whether finish() would not wait.
    bool is_written() const;

    /// Takes what is left, and waits until all lies on the disk, synced.
    /// @throws Error naming the file; the save is abandoned then
    TableFile finish();

    /// The file that finish() told is safe: later changes are counted from its moment.
    void commit();

    /// What the save should have written counts as changed still.
    void abandon();

  private:
    void take(std::span<const std::byte> rows) noexcept override;
    void make_file() const;
    void write_block(std::size_t block, std::byte* buffer);
    void fill(const StoredBlock& block, std::byte* buffer) const;
    Progress step(std::size_t bytes, bool may_wait);
    static TableFile complete(SaveInProgress& save);

    SparseTable& table_;
    Share share_;
    SaveMemory memory_;
    std::optional<TableFile> saved_;
    std::optional<SaveInProgress> save_;
};

}  // namespace dtrain::ps
