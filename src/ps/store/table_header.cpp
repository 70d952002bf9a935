// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/table_header.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/aligned_memory.hpp"
#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "ps/store/options_json.hpp"
#include "storage/index_block.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

constexpr std::string_view magic = "dtrain table 1";
constexpr std::size_t max_line = 128;
constexpr std::size_t max_header = std::size_t{1} << 30U;
constexpr std::size_t max_block = std::size_t{1} << 30U;
constexpr auto alignment = storage::direct_alignment;

std::string hex(std::uint64_t sum) {
    return fmt::format("{:016x}", sum);
}

const char* word_of(WhichRows which) {
    return which == WhichRows::all ? "all" : "changed";
}

WhichRows which_from(const json& value) {
    const auto word = value.get<std::string>();
    for (const auto which : {WhichRows::all, WhichRows::changed})
        if (word == word_of(which)) return which;
    throw json::other_error::create(501, word, nullptr);
}

json json_of(const TableHeader& header) {
    auto sums = json::array();
    for (const auto sum : header.sums) sums.push_back(hex(sum));
    return {{"table", as_json(header.options)},
            {"server", header.shard.server},
            {"servers", header.shard.servers},
            {"which", word_of(header.which)},
            {"checkpoint", header.checkpoint},
            {"base", header.base ? json(*header.base) : json()},
            {"step", header.step},
            {"day", header.day},
            {"born", header.counts.inserted},
            {"evicted", header.counts.evicted},
            {"rejected", header.counts.rejected},
            {"dropped", header.counts.dropped},
            {"row_bytes", header.row_bytes},
            {"rows", header.rows},
            {"erased", header.erased},
            {"touch_counters", header.touch_counters},
            {"block_bytes", header.block_bytes},
            {"sums", std::move(sums)}};
}

TableHeader header_from(const json& value) {
    TableHeader header;
    header.options = options_from(value.at("table"));
    value.at("server").get_to(header.shard.server);
    value.at("servers").get_to(header.shard.servers);
    header.which = which_from(value.at("which"));
    value.at("checkpoint").get_to(header.checkpoint);
    if (const auto& base = value.at("base"); !base.is_null()) header.base = base.get<std::string>();
    value.at("step").get_to(header.step);
    value.at("day").get_to(header.day);
    value.at("born").get_to(header.counts.inserted);
    value.at("evicted").get_to(header.counts.evicted);
    value.at("rejected").get_to(header.counts.rejected);
    value.at("dropped").get_to(header.counts.dropped);
    value.at("row_bytes").get_to(header.row_bytes);
    value.at("rows").get_to(header.rows);
    value.at("erased").get_to(header.erased);
    value.at("touch_counters").get_to(header.touch_counters);
    value.at("block_bytes").get_to(header.block_bytes);
    for (const auto& sum : value.at("sums"))
        header.sums.push_back(parse_int<std::uint64_t>(sum.get<std::string>(), 16).value_or(0));
    return header;
}

/// Adds the blocks of a section that begins at `offset`; returns its end.
std::int64_t add_blocks(TableLayout& layout, StoredBlock block, std::uint64_t items, std::size_t block_bytes,
                        std::int64_t offset) {
    const auto max = std::max<std::size_t>(1, block_bytes / block.item_bytes);
    for (block.first = 0; block.first < items; block.first += block.items) {
        block.items = static_cast<std::size_t>(std::min<std::uint64_t>(max, items - block.first));
        block.range = {offset, aligned_to<alignment>(block.items * block.item_bytes)};
        layout.blocks.push_back(block);
        offset += static_cast<std::int64_t>(block.range.bytes);
    }
    return offset;
}

std::size_t header_bytes(std::size_t json_bytes) {
    return std::max(alignment, storage::index_block_bytes(magic, json_bytes));
}

TableLayout layout_after(const TableHeader& header, std::size_t bytes_of_header) {
    TableLayout layout;
    layout.header_bytes = bytes_of_header;
    auto at = static_cast<std::int64_t>(bytes_of_header);
    const auto add = [&](BlockContent content, std::size_t item_bytes, std::uint64_t items) {
        at =
            add_blocks(layout, {.content = content, .item_bytes = item_bytes}, items, header.block_bytes, at);
    };
    add(BlockContent::erased, sizeof(std::int64_t), header.erased);
    add(BlockContent::touches, 1, header.touch_counters);
    add(BlockContent::rows, header.row_bytes, header.rows);
    layout.bytes = at;
    return layout;
}

/// Whether all values of the header are possible, so that a reader can rely on them.
bool is_sound(const TableHeader& header, std::int64_t file_bytes) {
    const auto file = static_cast<std::uint64_t>(file_bytes);
    try {
        check(header.options);
    } catch (const UsageError&) {
        return false;
    }
    const auto* by_count = std::get_if<AdmitByCount>(&header.options.admission);
    return header.row_bytes == RowLayout(header.options).row_bytes() &&
           header.touch_counters == (by_count == nullptr ? 0 : by_count->counters) &&
           header.shard.server < header.shard.servers && header.block_bytes >= alignment &&
           header.block_bytes <= max_block && header.block_bytes % alignment == 0 &&
           header.rows <= file / header.row_bytes && header.erased <= file / sizeof(std::int64_t) &&
           header.touch_counters <= file && header.step >= 0 &&
           header.base.has_value() == (header.which == WhichRows::changed) &&
           (header.which == WhichRows::changed || header.erased == 0);
}

json json_of(const TableFile& file) {
    return {{"table", file.table},
            {"server", file.shard.server},
            {"servers", file.shard.servers},
            {"which", word_of(file.which)},
            {"file", file.file},
            {"bytes", file.bytes},
            {"sum", file.sum},
            {"rows", file.rows}};
}

/// Reads `bytes` from the start of a file; fewer if it is shorter.
std::string beginning_of(const FileDescriptor& file, std::size_t bytes, const std::filesystem::path& path) {
    std::string content(bytes, '\0');
    const auto done = read_at(file.get(), content.data(), bytes, 0);
    if (!done) throw UsageError("cannot read " + path.string() + ": " + std::strerror(errno));
    content.resize(*done);
    return content;
}

}  // namespace

double common_part(const ServerShard& of, const ServerShard& other) {
    // A shard holds the hashes from server / servers to (server + 1) / servers.
    const auto edge = [](const ServerShard& shard, std::uint32_t more) {
        return static_cast<double>(shard.server + std::uint64_t{more}) / shard.servers;
    };
    const auto begin = std::max(edge(of, 0), edge(other, 0));
    const auto end = std::min(edge(of, 1), edge(other, 1));
    return std::max(0.0, (end - begin) * of.servers);
}

TableLayout layout_of(const TableHeader& header) {
    auto with_sums = header;
    with_sums.sums.assign(layout_after(header, 0).blocks.size(), 0);
    return layout_after(header, header_bytes(json_of(with_sums).dump().size()));
}

std::string header_block(const TableHeader& header) {
    try {
        const auto text = json_of(header).dump();
        std::string block(header_bytes(text.size()), '\0');
        storage::put_index_block(block, magic, text, block.size());
        return block;
    } catch (const json::type_error&) {
        throw UsageError("table '" + header.options.name +
                         "' cannot be saved: its name, or that of the checkpoint, is no UTF-8");
    }
}

std::string table_file_name(const std::string& table, const ServerShard& shard) {
    std::string name;
    for (const auto character : table) {
        const bool is_plain = (character >= 'a' && character <= 'z') ||
                              (character >= 'A' && character <= 'Z') ||
                              (character >= '0' && character <= '9') || character == '_' ||
                              character == '-' || (character == '.' && !name.empty());
        name += is_plain ? std::string(1, character)
                         : fmt::format("%{:02X}", static_cast<unsigned char>(character));
    }
    // File systems allow 255 bytes.
    constexpr std::size_t max = 200;
    if (name.size() > max)
        name.replace(max - 16, std::string::npos, hex(storage::xxh3(std::as_bytes(std::span(table)))));
    return fmt::format("{}-{:04}-of-{:04}.rows", name, shard.server, shard.servers);
}

std::string to_json(const TableFile& file) {
    return dumped(json_of(file));
}

TableFile table_file_from_json(std::string_view text) {
    const auto file = read_json(text, [](const json& value) {
        TableFile out;
        value.at("table").get_to(out.table);
        value.at("server").get_to(out.shard.server);
        value.at("servers").get_to(out.shard.servers);
        out.which = which_from(value.at("which"));
        value.at("file").get_to(out.file);
        value.at("bytes").get_to(out.bytes);
        value.at("sum").get_to(out.sum);
        value.at("rows").get_to(out.rows);
        return out;
    });
    if (!file || !is_plain_name(file->file))
        throw UsageError(
            fmt::format("this is no entry for a file of a sparse table: '{}'", one_line(text, 200)));
    return *file;
}

TableFile info_of(const TableHeader& header, std::string_view block) {
    return {.table = header.options.name,
            .shard = header.shard,
            .which = header.which,
            .file = table_file_name(header.options.name, header.shard),
            .bytes = layout_after(header, block.size()).bytes,
            .sum = hex(storage::xxh3(std::as_bytes(std::span(block)))),
            .rows = header.rows};
}

void refuse_damaged(const std::filesystem::path& path, const std::string& what) {
    throw UsageError(path.string() + ": the checkpoint is damaged (" + what + "); resume from another one");
}

StoredHeader read_table_header(const std::filesystem::path& path) {
    const auto file = open_regular_file(path, Links::refused);
    const auto line = beginning_of(file, max_line, path);
    const auto bytes = storage::index_block_in(line, magic);
    if (!bytes || *bytes > max_header || *bytes % alignment != 0)
        throw UsageError(path.string() +
                         ": this is no file of a sparse table, or its first bytes are damaged; resume from "
                         "another checkpoint");
    if (*bytes > size_or_zero(path)) refuse_damaged(path, "it ends within its header");
    const auto block = beginning_of(file, *bytes, path);
    const auto text = storage::json_of_index_block(block, magic);
    if (!text) refuse_damaged(path, "the checksum of its header differs");
    const auto file_bytes = static_cast<std::int64_t>(size_or_zero(path));
    StoredHeader stored;
    const auto header = read_json(*text, header_from);
    if (!header || !is_sound(*header, file_bytes))
        throw UsageError(path.string() + ": the header of this sparse table makes no sense");
    stored.header = *header;
    stored.layout = layout_after(stored.header, block.size());
    if (stored.layout.blocks.size() != stored.header.sums.size())
        throw UsageError(path.string() + ": the header of this sparse table makes no sense");
    if (file_bytes != stored.layout.bytes)
        refuse_damaged(path, fmt::format("{} bytes instead of {}", file_bytes, stored.layout.bytes));
    stored.info = info_of(stored.header, block);
    return stored;
}

}  // namespace dtrain::ps
