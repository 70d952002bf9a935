// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "io/read_clicks.hpp"
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
            file.refuse_line(fmt::format("{} instead of {}: the label, {}, {}{}", counted(found, "column"),
                                         needed, counted(expected.integers, "whole number"),
                                         io::counted_categories(expected.slots),
                                         found > 1 ? "" : "; there is no tab, so is this another format?"));
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
    return damped(static_cast<double>(*count));
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
    if (const auto wrong = io::misfit(expected.integers, expected.slots, "whole number"))
        throw UsageError(*wrong);
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

}  // namespace dtrain
