// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/describe_tables.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/paths_in.hpp"
#include "base/text.hpp"
#include "ps/store/options_json.hpp"
#include "ps/store/table_header.hpp"

namespace dtrain::ps {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::filesystem::path> table_files(const std::filesystem::path& folder) {
    auto files = paths_in(folder);
    std::erase_if(files, [](const auto& path) { return path.extension() != ".rows"; });
    std::ranges::sort(files);
    return files;
}

std::string text_of(const std::string& table, const std::vector<StoredHeader>& files) {
    const auto& first = files.front().header;
    std::uint64_t rows = 0;
    std::uint64_t erased = 0;
    std::int64_t bytes = 0;
    TableCounts counts;
    Rows lines;
    for (const auto& [header, layout, info] : files) {
        rows += header.rows;
        erased += header.erased;
        bytes += layout.bytes;
        counts.inserted += header.counts.inserted;
        counts.evicted += header.counts.evicted;
        counts.rejected += header.counts.rejected;
        counts.dropped += header.counts.dropped;
        lines.push_back({"  " + info.file, fmt::format("{} rows", header.rows),
                         fmt::format("{} bytes", layout.bytes), "xxh3 " + info.sum});
    }
    const auto what = first.which == WhichRows::all
                          ? std::string("all there are")
                          : fmt::format("those changed since {}, and {} erased", *first.base, erased);
    const auto missing = first.shard.servers - files.size();
    auto out = fmt::format("table {}: {} rows ({}), {} bytes\n", one_line(table), rows, what, bytes);
    const Rows info{
        {"  row", fmt::format("{} bytes: {}", first.row_bytes, layout_of(first.options))},
        {"  saved", fmt::format("{}, step {}, day {}", one_line(first.checkpoint), first.step, first.day)},
        {"  servers", fmt::format("{}{}", first.shard.servers,
                                  missing == 0 ? "" : fmt::format(", files of {} are missing", missing))},
        {"  rows ever", fmt::format("{} inserted, {} evicted", counts.inserted, counts.evicted)},
        {"  gradients", fmt::format("{} rejected, {} for ids not admitted", counts.rejected, counts.dropped)},
        {"  settings", as_json(first.options).dump()}};
    for (const auto& line : aligned(info)) out += line + "\n";
    for (const auto& line : aligned(lines)) out += line + "\n";
    return out;
}

}  // namespace

std::string describe_tables(const std::filesystem::path& folder) {
    std::map<std::string, std::vector<StoredHeader>> tables;
    std::string refused;
    for (const auto& file : table_files(folder)) {
        try {
            auto stored = read_table_header(file);
            tables[stored.header.options.name].push_back(std::move(stored));
        } catch (const UsageError& error) {
            refused += std::string(error.what()) + "\n";
        }
    }
    std::string out;
    for (const auto& [table, files] : tables) out += text_of(table, files);
    return out + refused;
}

}  // namespace dtrain::ps
