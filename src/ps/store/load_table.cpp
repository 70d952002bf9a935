// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/load_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "ps/store/options_json.hpp"
#include "ps/table/id_hash.hpp"
#include "storage/block_stream.hpp"

namespace dtrain::ps {
namespace {

struct OpenedFile {
    std::filesystem::path path;
    StoredHeader stored;
};

/// Verifies the checksum of a block and returns its content without padding.
std::span<std::byte> checked(const OpenedFile& file, std::size_t block, std::span<std::byte> bytes,
                             std::uint64_t sum) {
    if (sum != file.stored.header.sums[block])
        refuse_damaged(file.path, fmt::format("the checksum of its block {} differs", block));
    const auto& info = file.stored.layout.blocks[block];
    return bytes.first(info.items * info.item_bytes);
}

[[noreturn]] void refuse_unreadable(const OpenedFile& file, const std::system_error& error) {
    throw UsageError(file.path.string() + ": the checkpoint cannot be read: " + error.code().message());
}

/// Calls use(block, bytes) for the verified blocks that read(ranges, take) passes to `take`.
template <class Read, class Use>
void read_checked(const OpenedFile& file, const Read& read, const Use& use) {
    const auto& blocks = file.stored.layout.blocks;
    std::vector<storage::BlockRange> ranges;
    for (const auto& block : blocks) ranges.push_back(block.range);
    try {
        read(ranges, [&](std::size_t i, std::span<std::byte> bytes, std::uint64_t sum) {
            use(blocks[i], checked(file, i, bytes, sum));
        });
    } catch (const std::system_error& error) {
        refuse_unreadable(file, error);
    }
}

/// Calls use(block, bytes) for every block in order.
template <class Use>
void use_in_order(const OpenedFile& file, const Use& use) {
    read_checked(
        file, [&](const auto& ranges, const auto& take) { storage::read_blocks(file.path, ranges, take); },
        use);
}

void check_blocks(const OpenedFile& file) {
    use_in_order(file, [](const StoredBlock& /*block*/, std::span<std::byte> /*bytes*/) {});
}

/// Calls use(block, bytes) for every block in any order; a few threads read and call `use`.
template <class Use>
void use_in_threads(const OpenedFile& file, storage::PageCache cache, const Use& use) {
    read_checked(
        file,
        [&](const auto& ranges, const auto& take) {
            storage::use_blocks(storage::BlockFile(file.path, cache), ranges, take);
        },
        use);
}

/// Opens the files of a checkpoint; ordered by server.
std::vector<OpenedFile> opened(const SavedTable& saved, const TableOptions& options) {
    const auto servers = saved.files.empty() ? 0 : saved.files.front().shard.servers;
    std::vector<OpenedFile> files(saved.files.size());
    for (const auto& info : saved.files) {
        const auto path = saved.folder / info.file;
        if (info.shard.servers != servers || files.size() != servers || info.shard.server >= servers ||
            !files[info.shard.server].path.empty())
            throw UsageError(fmt::format("{}: the checkpoint does not have one file of each of {} servers",
                                         path.string(), servers));
        auto stored = read_table_header(path);
        if (stored.header.options.name != options.name ||
            layout_of(stored.header.options) != layout_of(options))
            throw UsageError(fmt::format(
                "{} has rows of table '{}' ({}), which do not fit into table '{}' ({}) of this job: change "
                "the job, or begin without this checkpoint",
                path.string(), stored.header.options.name, layout_of(stored.header.options), options.name,
                layout_of(options)));
        if (stored.info != info) refuse_damaged(path, "it is not the file that the checkpoint names");
        files[info.shard.server] = {path, std::move(stored)};
    }
    if (files.empty())
        throw UsageError(
            fmt::format("{}: the checkpoint has no file of table '{}'", saved.folder.string(), options.name));
    return files;
}

using Chain = std::vector<std::vector<OpenedFile>>;  // by checkpoint, by server

Chain opened(std::span<const SavedTable> saves, const TableOptions& options) {
    Chain chain;
    for (const auto& saved : saves) {
        chain.push_back(opened(saved, options));
        for (std::size_t server = 0; server < chain.back().size(); ++server) {
            const auto& [path, stored] = chain.back()[server];
            const bool is_first = chain.size() == 1;
            if (is_first != (stored.header.which == WhichRows::all))
                throw UsageError(fmt::format("{}: {}", path.string(),
                                             is_first ? "it has only what changed since another save, and "
                                                        "needs that one first"
                                                      : "it has all rows, and is no change of another save"));
            if (is_first) continue;
            const auto& before = chain[chain.size() - 2];
            if (before.size() != chain.back().size() || before[server].stored.info.sum != stored.header.base)
                throw UsageError(fmt::format("{}: it has what changed since another save than {}",
                                             path.string(), before.front().path.parent_path().string()));
        }
    }
    return chain;
}

/// Moves the rows of this shard to the front and returns them.
std::span<std::byte> own_rows(const OpenedFile& file, const ServerShard& shard, std::span<std::byte> bytes) {
    const auto& writer = file.stored.header.shard;
    const auto row_bytes = file.stored.header.row_bytes;
    if (writer.servers == 1 && shard.servers == 1) return bytes;
    std::size_t own = 0;
    for (std::size_t at = 0; at < bytes.size(); at += row_bytes) {
        const auto id = RowArena::id_of(&bytes[at]);
        if (server_of(id, writer.servers) != writer.server)
            throw UsageError(
                fmt::format("{}: this sparse table makes no sense: id {} is not one of server {} "
                            "of {}",
                            file.path.string(), id, writer.server, writer.servers));
        if (writer != shard && server_of(id, shard.servers) != shard.server) continue;
        if (own != at) std::memmove(&bytes[own], &bytes[at], row_bytes);
        own += row_bytes;
    }
    return bytes.first(own);
}

/// Combines counters by maximum, so that no id of this shard gets a count below what a saved filter says.
void add_touches(SparseTable& table, std::uint64_t first, std::span<const std::byte> bytes) {
    const auto cells = table.touch_counters().subspan(first, bytes.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
        cells[i] = std::max(cells[i], static_cast<std::uint8_t>(bytes[i]));
}

bool takes_touches(const OpenedFile& file, const SparseTable& table) {
    return file.stored.header.touch_counters == table.touch_counters().size();
}

std::uint64_t expected_rows(const std::vector<OpenedFile>& files, const ServerShard& shard) {
    double rows = 0;
    for (const auto& file : files)
        rows += common_part(file.stored.header.shard, shard) * static_cast<double>(file.stored.header.rows);
    return static_cast<std::uint64_t>(std::llround(rows));
}

/// Loads all rows of a full save into an empty table.
void load_all(SparseTable& table, const std::vector<OpenedFile>& files, const ServerShard& shard,
              bool is_last) {
    table.load(expected_rows(files, shard), [&](BulkLoad& bulk) {
        for (const auto& file : files) {
            if (common_part(file.stored.header.shard, shard) <= 0) continue;
            const bool has_touches = is_last && takes_touches(file, table);
            const bool is_all = file.stored.header.shard == shard;
            use_in_threads(file, is_all ? storage::PageCache::left : storage::PageCache::kept,
                           [&](const StoredBlock& block, std::span<std::byte> bytes) {
                               if (block.content == BlockContent::rows)
                                   bulk.add(own_rows(file, shard, bytes));
                               else if (has_touches)
                                   add_touches(table, block.first, bytes);
                           });
        }
    });
}

/// Inserts in limited portions, since the rows of one call are in memory together.
void insert(SparseTable& table, std::span<const std::byte> rows) {
    const auto max = 4096 * table.row_bytes();
    for (; !rows.empty(); rows = rows.subspan(std::min(max, rows.size())))
        table.insert_rows(rows.first(std::min(max, rows.size())));
}

void load_changes(SparseTable& table, const std::vector<OpenedFile>& files, const ServerShard& shard,
                  bool is_last) {
    for (const auto& file : files) {
        if (common_part(file.stored.header.shard, shard) <= 0) continue;
        const bool has_touches = is_last && takes_touches(file, table);
        use_in_order(file, [&](const StoredBlock& block, std::span<std::byte> bytes) {
            if (block.content == BlockContent::rows) {
                insert(table, own_rows(file, shard, bytes));
            } else if (block.content == BlockContent::erased) {
                for (std::size_t at = 0; at < bytes.size(); at += block.item_bytes)
                    if (const auto id = RowArena::id_of(&bytes[at]);
                        server_of(id, shard.servers) == shard.server)
                        table.erase(id);
            } else if (has_touches) {
                add_touches(table, block.first, bytes);
            }
        });
    }
}

/// Distributes the old servers' counts over the new servers: each new server gets the sum of its own subset.
TableCounts counts_for(const ServerShard& shard, const std::vector<OpenedFile>& files) {
    TableCounts sum;
    for (std::size_t server = shard.server; server < files.size(); server += shard.servers) {
        const auto& counts = files[server].stored.header.counts;
        sum.inserted += counts.inserted;
        sum.evicted += counts.evicted;
        sum.rejected += counts.rejected;
        sum.dropped += counts.dropped;
    }
    return sum;
}

}  // namespace

LoadedTable load_table(const TableOptions& options, std::span<const SavedTable> chain,
                       const ServerShard& shard, const std::optional<SpillOptions>& spill) {
    SparseTable table(options, spill);
    const auto saves = opened(chain, table.options());
    // A save of changes inserts rows before it erases others, so the limit may be exceeded meanwhile.
    table.set_dict_size(std::nullopt);
    if (saves.empty()) throw UsageError("table '" + options.name + "': there is no checkpoint to load");
    for (const auto& files : saves) {
        const bool is_last = &files == &saves.back();
        if (&files == &saves.front())
            load_all(table, files, shard, is_last);
        else
            load_changes(table, files, shard, is_last);
    }
    const auto& last = saves.back();
    const auto& header = last.front().stored.header;
    table.set_counts(counts_for(shard, last));
    table.set_day(header.day);
    table.set_dict_size(options.dict_size);
    table.track_changes();
    table.forget_changes();
    auto warnings = differences(header.options, table.options());
    LoadedTable loaded{
        .table = std::move(table), .step = header.step, .saved = {}, .warnings = std::move(warnings)};
    if (last.size() == shard.servers) loaded.saved = last[shard.server].stored.info;
    return loaded;
}

void check_saved_table(std::span<const SavedTable> chain) {
    const auto& last = chain.back();
    const auto header = read_table_header(last.folder / last.files.at(0).file).header;
    for (const auto& files : opened(chain, header.options))
        for (const auto& file : files) check_blocks(file);
}

void check_table_file(const std::filesystem::path& path) {
    check_blocks({path, read_table_header(path)});
}

}  // namespace dtrain::ps
