// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/checksum.hpp"
#include "base/text.hpp"
#include "io/hash.hpp"
#include "io/text_file.hpp"

namespace dtrain {
namespace {

/// The columns of one line, from left to right.
class Columns {
  public:
    Columns(const io::InputFile& file, std::string_view line, const ClickColumns& expected)
        : file_(file), rest_(line) {
        const auto found = std::ranges::count(line, '\t') + 1;
        const auto needed = 1 + expected.integers + expected.slots;
        if (found != needed)
            file.refuse_line(fmt::format("{} {} instead of {}: the label, {} {}, {} {}", found,
                                         noun(found, "column"), needed, expected.integers,
                                         noun(expected.integers, "whole number"), expected.slots,
                                         expected.slots == 1 ? "category" : "categories"));
    }

    std::string_view next() {
        const auto end = std::min(rest_.find('\t'), rest_.size());
        const auto column = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++number_;
        return column;
    }

    [[noreturn]] void refuse(std::string_view column, const char* what) const {
        file_.refuse_line(fmt::format("'{}' in column {} is {}", one_line(column, 40), number_, what));
    }

  private:
    static std::string noun(std::int64_t count, const char* word) {
        return plural(static_cast<std::size_t>(count), word);
    }

    const io::InputFile& file_;
    std::string_view rest_;
    int number_ = 0;
};

float next_label(Columns& columns) {
    const auto text = columns.next();
    if (text != "0" && text != "1") columns.refuse(text, "no label: 1 for a click, or 0");
    return text == "1" ? 1 : 0;
}

float next_integer(Columns& columns) {
    const auto text = columns.next();
    if (text.empty()) return 0;
    const auto count = parse_int<std::int64_t>(text);
    if (!count) columns.refuse(text, "no whole number of 64 bits");
    return damped(*count);
}

std::int64_t next_category(Columns& columns, std::int64_t slot) {
    constexpr std::size_t most_digits = 16;
    const auto text = columns.next();
    if (text.empty()) return missing_id(slot);
    const auto category = parse_int<std::uint64_t>(text, 16);
    if (!category || text.size() > most_digits)
        columns.refuse(text, "no category: a hexadecimal number of up to 16 digits");
    return category_id(slot, *category);
}

}  // namespace

ClickLog ClickLog::read(const std::filesystem::path& path, const ClickColumns& expected) {
    if (expected.integers < 0 || expected.integers > most_click_columns || expected.slots < 1 ||
        expected.slots > most_click_columns)
        throw UsageError(
            fmt::format("a click log with {} whole numbers and {} categories: 0..{} and 1..{} are possible",
                        expected.integers, expected.slots, most_click_columns, most_click_columns));
    io::InputFile file(path);
    ClickLog log{.integers = expected.integers, .slots = expected.slots};
    std::string_view line;
    while (file.next_line(line)) {
        if (line.empty()) continue;
        Columns columns(file, line, expected);
        log.labels.push_back(next_label(columns));
        for (std::int64_t i = 0; i < expected.integers; ++i) log.dense.push_back(next_integer(columns));
        for (std::int64_t slot = 0; slot < expected.slots; ++slot)
            log.ids.push_back(next_category(columns, slot));
    }
    if (log.labels.empty()) file.refuse("there is no sample in it");
    return log;
}

std::uint64_t ClickLog::fingerprint() const {
    io::Hash hash;
    hash.add(static_cast<std::uint64_t>(integers));
    hash.add(static_cast<std::uint64_t>(slots));
    hash.add(std::span<const float>(labels));
    hash.add(std::span<const float>(dense));
    hash.add(std::span<const std::int64_t>(ids));
    return hash.value();
}

void ClickLog::gather(std::span<const std::int64_t> samples, std::span<float> dense_rows,
                      std::span<std::int64_t> id_rows, std::span<float> label_rows) const {
    const auto width = static_cast<std::size_t>(integers);
    const auto places = static_cast<std::size_t>(slots);
    if (dense_rows.size() != samples.size() * width || id_rows.size() != samples.size() * places ||
        label_rows.size() != samples.size())
        throw Error(
            fmt::format("a batch of {} samples of {} values and {} ids does not fit buffers of {} "
                        "values, {} ids and {} labels",
                        samples.size(), width, places, dense_rows.size(), id_rows.size(), label_rows.size()));
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto sample = static_cast<std::size_t>(samples[i]);
        std::ranges::copy(std::span(dense).subspan(sample * width, width),
                          dense_rows.subspan(i * width).begin());
        std::ranges::copy(std::span(ids).subspan(sample * places, places),
                          id_rows.subspan(i * places).begin());
        label_rows[i] = labels[sample];
    }
}

float damped(std::int64_t count) {
    const auto value = static_cast<double>(count);
    return static_cast<float>(std::copysign(std::log1p(std::abs(value)), value));
}

std::int64_t category_id(std::int64_t slot, std::uint64_t category) {
    return static_cast<std::int64_t>(splitmix_output(category ^ mixed(static_cast<std::uint64_t>(slot))));
}

std::int64_t missing_id(std::int64_t slot) {
    return category_id(slot + (std::int64_t{1} << 32), 0);
}

}  // namespace dtrain
