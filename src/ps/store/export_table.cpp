// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/export_table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/unfinished_file.hpp"
#include "storage/block_stream.hpp"
#include "storage/hdf5_file.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t block_bytes = std::size_t{8} << 20U;
constexpr std::size_t rows_at_once = 256;

std::vector<std::int64_t> sorted_ids(const SparseTable& table) {
    std::vector<std::int64_t> ids;
    ids.reserve(table.size());
    table.for_each([&](const TableRow& row) { ids.push_back(row.id); });
    std::ranges::sort(ids);
    return ids;
}

/// Writes a temporary file beside `path` by write(temporary) and renames it to `path`.
template <class Write>
void published(const std::filesystem::path& path, const Write& write) {
    const UnfinishedFile made(temporary_name(path));
    try {
        make_new_file(made.path());
        write(made.path());
        publish_file(made.path(), path);
    } catch (const std::system_error& error) {
        throw Error("cannot write " + path.string() + ": " + error.code().message());
    }
}

void append(std::string& out, const auto& value) {
    std::array<char, 32> text;
    out.append(text.data(), std::to_chars(text.begin(), text.end(), value).ptr);
}

}  // namespace

void export_csv(const SparseTable& table, const std::filesystem::path& path) {
    published(path, [&](const std::filesystem::path& temporary) {
        const FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
        const auto flush = [&](std::string& lines) {
            if (!file.valid() || !write_all(file.get(), lines))
                throw std::system_error(errno, std::generic_category());
            lines.clear();
        };
        std::string lines = "id";
        for (std::size_t i = 0; i < table.width(); ++i) lines += fmt::format(",w{}", i);
        lines += '\n';
        const auto ids = sorted_ids(table);
        std::vector<float> weights(rows_at_once * table.width());
        for (std::size_t at = 0; at < ids.size(); at += rows_at_once) {
            const auto part = std::span(ids).subspan(at, std::min(rows_at_once, ids.size() - at));
            table.find(part, std::span(weights).first(part.size() * table.width()));
            for (std::size_t i = 0; i < part.size(); ++i) {
                append(lines, part[i]);
                for (const auto weight : std::span(weights).subspan(i * table.width(), table.width())) {
                    lines += ',';
                    append(lines, weight);
                }
                lines += '\n';
            }
            if (lines.size() > block_bytes) flush(lines);
        }
        flush(lines);
    });
}

void export_hdf5(const SparseTable& table, const std::filesystem::path& path) {
    const auto ids = sorted_ids(table);
    const auto row_bytes = table.width() * sizeof(float);
    const auto rows = static_cast<std::int64_t>(ids.size());
    published(path, [&](const std::filesystem::path& temporary) {
        storage::check_space(temporary, rows * static_cast<std::int64_t>(row_bytes + sizeof(std::int64_t)),
                             3);
        auto file = storage::Hdf5File::create(temporary, {.alignment = storage::direct_alignment});
        const std::vector<std::int64_t> of_ids{rows},
            of_weights{rows, static_cast<std::int64_t>(table.width())};
        file.write("/ids", of_ids, std::span(ids));
        auto offset = file.allocate("/weights", of_weights, DataType::float32);
        file.write_text("/", "table", table.options().name);
        file.close();
        const auto rows_of_block = std::max<std::size_t>(1, block_bytes / row_bytes);
        storage::BlockWriter writer(temporary, rows_of_block * row_bytes, 4);
        for (std::size_t at = 0; at < ids.size(); at += rows_of_block) {
            const auto part = std::span(ids).subspan(at, std::min(rows_of_block, ids.size() - at));
            auto* const buffer = writer.buffer();
            table.find(part, {reinterpret_cast<float*>(buffer), part.size() * table.width()});
            writer.write(buffer, part.size() * row_bytes, offset);
            offset += static_cast<std::int64_t>(part.size() * row_bytes);
        }
        writer.finish();
    });
}

}  // namespace dtrain::ps
