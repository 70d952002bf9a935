// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "data/read_dataset.hpp"

namespace dtrain::data {
namespace {

double needed_number(const InputFile& file, std::string_view text) {
    const auto value = parse_number(text);
    if (!value) file.refuse_line(fmt::format("'{}' is no number", trimmed(text)));
    return *value;
}

}  // namespace

const FormatRow& format_of(const DatasetSource& source) {
    if (source.format) return *std::ranges::find(formats, *source.format, &FormatRow::format);
    open_regular_file(source.file);  // a FIFO would lose its first bytes
    InputFile file(source.file);
    std::array<std::byte, 8> begin{};
    const auto count = file.read(begin);
    const std::string_view bytes(reinterpret_cast<const char*>(begin.data()), count);
    for (const auto& row : formats)
        if (!row.first_bytes.empty() && bytes.starts_with(row.first_bytes)) return row;
    for (const auto& row : formats)
        if (name_ends_with(source.file, row.endings)) return row;
    return formats.front();
}

bool name_ends_with(const std::filesystem::path& file, std::span<const std::string_view> endings) {
    auto name = lower_case(file.filename().string());
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    return std::ranges::any_of(
        endings, [&](std::string_view ending) { return !ending.empty() && name.ends_with(ending); });
}

std::optional<double> parse_number(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

float number_in(const InputFile& file, std::string_view text, float scale) {
    const auto value = static_cast<float>(needed_number(file, text)) * scale;
    if (!std::isfinite(value)) file.refuse_line(fmt::format("{} is not finite as float32", trimmed(text)));
    return value;
}

std::int64_t label_in(const InputFile& file, std::string_view text, std::int64_t min) {
    const auto value = needed_number(file, text);
    if (!(value >= static_cast<double>(min) && value < static_cast<double>(max_classes)) ||
        value != std::floor(value))
        file.refuse_line(
            fmt::format("label {}: labels are class numbers from 0 to {}", trimmed(text), max_classes - 1));
    return static_cast<std::int64_t>(value);
}

}  // namespace dtrain::data
