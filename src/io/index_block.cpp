// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "io/index_block.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "io/block_io.hpp"

namespace dtrain::io {
namespace {

constexpr std::size_t least_bytes = 512;

std::string first_line(std::string_view name, std::size_t block_bytes, std::uint64_t sum) {
    return fmt::format("{} of {} bytes, xxh3 {:016x}\n", name, block_bytes, sum);
}

std::uint64_t sum_after(std::string_view content, std::size_t line) {
    return xxh3(std::as_bytes(std::span(content.substr(line))));
}

}  // namespace

std::size_t index_block_bytes(std::string_view name, std::size_t json_bytes) {
    // The line has the same length for every sum, and for every size of the same number of digits.
    const auto line = first_line(name, std::bit_ceil(json_bytes), 0).size();
    return std::bit_ceil(std::max(least_bytes, json_bytes + line + 16));
}

void put_index_block(std::string& content, std::string_view name, std::string_view json,
                     std::size_t block_bytes) {
    const auto line = first_line(name, block_bytes, 0).size();
    content.replace(line, json.size(), json);
    content.replace(0, line, first_line(name, block_bytes, sum_after(content, line)));
}

std::optional<std::size_t> index_block_in(std::string_view content, std::string_view name) {
    if (!content.starts_with(name)) return std::nullopt;
    const auto words = split(content.substr(name.size(), content.find('\n') - name.size()), ' ');
    return words.size() > 2 ? parse_int<std::size_t>(words[2]) : std::nullopt;  // "", "of", "512"
}

std::optional<std::string_view> json_of_index_block(std::string_view content, std::string_view name) {
    const auto bytes = index_block_in(content, name);
    const auto line = content.substr(0, content.find('\n') + 1);
    if (!bytes || line.empty() || *bytes > content.size() ||
        line != first_line(name, *bytes, sum_after(content, line.size())))
        return std::nullopt;
    const auto json = content.substr(line.size(), *bytes - line.size());
    return json.substr(0, json.find('\0'));
}

}  // namespace dtrain::io
