// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/load_table.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "ps/store/options_json.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

struct OpenedFile {
    std::filesystem::path path;
    StoredHeader stored;
};

using UseBlock = std::function<void(const StoredBlock&, std::span<std::byte>)>;

/// Every block, with its bytes when they are as they were written.
void read_checked(const OpenedFile& file, const UseBlock& use) {
    const auto& blocks = file.stored.layout.blocks;
    std::vector<io::BlockPlace> places;
    for (const auto& block : blocks) places.push_back(block.place);
    try {
        io::read_blocks(file.path, places, [&](std::size_t i, std::span<std::byte> bytes, std::uint64_t sum) {
            if (sum != file.stored.header.sums[i])
                refuse_damaged(file.path, fmt::format("the checksum of its block {} differs", i));
            use(blocks[i], bytes.first(blocks[i].items * blocks[i].item_bytes));
        });
    } catch (const std::system_error& error) {
        throw UsageError(file.path.string() + ": the checkpoint cannot be read: " + error.code().message());
    }
}

/// The files of a checkpoint in the order of their servers.
std::vector<OpenedFile> opened(const SavedTable& saved, const TableOptions& options) {
    const auto servers = saved.files.empty() ? 0 : saved.files.front().share.servers;
    std::vector<OpenedFile> files(saved.files.size());
    for (const auto& facts : saved.files) {
        const auto path = saved.folder / facts.file;
        if (facts.share.servers != servers || files.size() != servers || facts.share.server >= servers ||
            !files[facts.share.server].path.empty())
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
        if (stored.facts != facts) refuse_damaged(path, "it is not the file that the checkpoint names");
        files[facts.share.server] = {path, std::move(stored)};
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
            if (before.size() != chain.back().size() || before[server].stored.facts.sum != stored.header.base)
                throw UsageError(fmt::format("{}: it has what changed since another save than {}",
                                             path.string(), before.front().path.parent_path().string()));
        }
    }
    return chain;
}

class Loader {
  public:
    Loader(SparseTable& table, const Share& share) : table_(table), share_(share) {}

    void load(const std::vector<OpenedFile>& files, bool is_last) {
        for (const auto& file : files) {
            const auto& header = file.stored.header;
            if (common_part(header.share, share_) <= 0) continue;
            takes_touches_ =
                is_last && header.touch_counters == std::as_const(table_).touch_counters().size();
            const auto before = table_.size();
            rows_ = 0;
            read_checked(
                file, [&](const StoredBlock& block, std::span<std::byte> bytes) { use(file, block, bytes); });
            if (header.which == WhichRows::all && table_.size() != before + rows_)
                throw UsageError(file.path.string() +
                                 ": this sparse table makes no sense: an id comes twice");
        }
    }

  private:
    void use(const OpenedFile& file, const StoredBlock& block, std::span<std::byte> bytes) {
        switch (block.content) {
            case BlockContent::erased:
                for (std::size_t at = 0; at < bytes.size(); at += block.item_bytes)
                    if (const auto id = RowArena::id_of(&bytes[at]);
                        server_of(id, share_.servers) == share_.server)
                        table_.erase(id);
                break;
            case BlockContent::touches:
                if (takes_touches_) add_touches(block.first, bytes);
                break;
            case BlockContent::rows: {
                const auto own = own_rows(file, bytes, block.item_bytes);
                rows_ += own.size() / block.item_bytes;
                table_.insert_rows(own);
            }
        }
    }

    /// Never too little for any id: the most that any of the filters says which ids of this share were in.
    void add_touches(std::uint64_t first, std::span<const std::byte> bytes) {
        const auto cells = table_.touch_counters().subspan(first, bytes.size());
        for (std::size_t i = 0; i < cells.size(); ++i)
            cells[i] = std::max(cells[i], static_cast<std::uint8_t>(bytes[i]));
    }

    /// Moves the rows of this share to the beginning.
    std::span<std::byte> own_rows(const OpenedFile& file, std::span<std::byte> bytes,
                                  std::size_t row_bytes) const {
        const auto& writer = file.stored.header.share;
        std::size_t own = 0;
        for (std::size_t at = 0; at < bytes.size(); at += row_bytes) {
            const auto id = RowArena::id_of(&bytes[at]);
            if (server_of(id, writer.servers) != writer.server)
                throw UsageError(
                    fmt::format("{}: this sparse table makes no sense: id {} is not one of server "
                                "{} of {}",
                                file.path.string(), id, writer.server, writer.servers));
            if (writer != share_ && server_of(id, share_.servers) != share_.server) continue;
            if (own != at) std::memmove(&bytes[own], &bytes[at], row_bytes);
            own += row_bytes;
        }
        return bytes.first(own);
    }

    SparseTable& table_;
    Share share_;
    std::uint64_t rows_ = 0;  // of this share in a file
    bool takes_touches_ = false;
};

/// Counts of several servers are added; each of them goes to one of the new ones.
TableCounts counts_for(const Share& share, const std::vector<OpenedFile>& files) {
    TableCounts sum;
    for (std::size_t server = share.server; server < files.size(); server += share.servers) {
        const auto& counts = files[server].stored.header.counts;
        sum.born += counts.born;
        sum.evicted += counts.evicted;
        sum.rejected += counts.rejected;
        sum.dropped += counts.dropped;
    }
    return sum;
}

double expected_rows(const std::vector<OpenedFile>& files, const Share& share) {
    double rows = 0;
    for (const auto& [path, stored] : files)
        rows += static_cast<double>(stored.header.rows) * common_part(stored.header.share, share);
    return rows;
}

}  // namespace

LoadedTable load_table(const TableOptions& options, std::span<const SavedTable> chain, const Share& share) {
    SparseTable table(options);
    const auto saves = opened(chain, table.options());
    if (saves.empty()) throw UsageError("table '" + options.name + "': there is no checkpoint to load");
    table.reserve(static_cast<std::uint64_t>(expected_rows(saves.front(), share)));
    Loader loader(table, share);
    for (const auto& files : saves) loader.load(files, &files == &saves.back());
    const auto& last = saves.back();
    const auto& header = last.front().stored.header;
    table.set_counts(counts_for(share, last));
    table.set_day(header.day);
    table.track_changes();
    table.forget_changes();
    auto warnings = differences(header.options, table.options());
    LoadedTable loaded{
        .table = std::move(table), .step = header.step, .saved = {}, .warnings = std::move(warnings)};
    if (last.size() == share.servers) loaded.saved = last[share.server].stored.facts;
    return loaded;
}

void check_table_file(const std::filesystem::path& path) {
    read_checked({path, read_table_header(path)},
                 [](const StoredBlock& /*block*/, std::span<std::byte> /*bytes*/) {});
}

}  // namespace dtrain::ps
