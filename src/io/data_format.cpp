// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "io/read_dataset.hpp"

namespace dtrain::io {
namespace {

constexpr std::array<std::string_view, 3> csv_endings = {".csv", ".tsv", ".txt"};

double needed_number(const InputFile& file, std::string_view text) {
    const auto value = parse_number(text);
    if (!value) file.refuse_line(fmt::format("'{}' is no number", trimmed(text)));
    return *value;
}

}  // namespace

DataFormat format_of(const DatasetSource& source) {
    if (source.format) return *source.format;
    open_regular_file(source.file);  // a FIFO would lose its first bytes
    InputFile file(source.file);
    std::array<std::byte, 8> begin{};
    const auto count = file.read(begin);
    const std::string_view bytes(reinterpret_cast<const char*>(begin.data()), count);
    if (bytes == std::string_view("\x89HDF\r\n\x1a\n", 8)) return DataFormat::hdf5;
    if (bytes.starts_with(std::string_view("\0\0", 2))) return DataFormat::idx;
    if (name_ends_with(source.file, svmlight_endings)) return DataFormat::svmlight;
    return name_ends_with(source.file, csv_endings) ? DataFormat::csv : DataFormat::hdf5;
}

bool name_ends_with(const std::filesystem::path& file, std::span<const std::string_view> endings) {
    auto name = lower_case(file.filename().string());
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
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

}  // namespace dtrain::io
