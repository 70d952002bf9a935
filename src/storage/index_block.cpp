// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/index_block.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "storage/block_io.hpp"

namespace dtrain::storage {
namespace {

constexpr std::size_t min_bytes = 512;

}  // namespace

std::string sum_line(std::string_view name, std::size_t bytes, std::string_view behind) {
    return fmt::format("{} of {} bytes, xxh3 {:016x}\n", name, bytes, xxh3(std::as_bytes(std::span(behind))));
}

std::size_t index_block_bytes(std::string_view name, std::size_t json_bytes) {
    // The length of the line depends only on the number of digits of the size.
    const auto line = sum_line(name, std::bit_ceil(json_bytes), "").size();
    return std::bit_ceil(std::max(min_bytes, json_bytes + line + 16));
}

void put_index_block(std::string& content, std::string_view name, std::string_view json,
                     std::size_t block_bytes) {
    const auto line = sum_line(name, block_bytes, "").size();
    content.replace(line, json.size(), json);
    content.replace(0, line, sum_line(name, block_bytes, std::string_view(content).substr(line)));
}

std::optional<std::size_t> index_block_in(std::string_view content, std::string_view name) {
    if (!content.starts_with(name)) return std::nullopt;
    const auto words = split(content.substr(name.size(), content.find('\n') - name.size()), ' ');
    return words.size() > 2 ? parse_int<std::size_t>(words[2]) : std::nullopt;  // words: "", "of", "512"
}

std::optional<std::string_view> json_of_index_block(std::string_view content, std::string_view name) {
    const auto bytes = index_block_in(content, name);
    const auto line = content.substr(0, content.find('\n') + 1);
    if (!bytes || line.empty() || *bytes > content.size() ||
        line != sum_line(name, *bytes, content.substr(line.size())))
        return std::nullopt;
    const auto json = content.substr(line.size(), *bytes - line.size());
    return json.substr(0, json.find('\0'));
}

}  // namespace dtrain::storage
