// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "data/read_clicks.hpp"
#include "data/text_file.hpp"

namespace dtrain {
namespace {

/// The columns of one line, from left to right.
class Columns {
  public:
    Columns(const data::InputFile& file, std::string_view line, const ClickColumns& expected)
        : file_(file), rest_(line) {
        const auto found = std::ranges::count(line, '\t') + 1;
        const auto needed = 1 + expected.integers + expected.slots;
        if (found != needed)
            file.refuse_line(fmt::format("{} instead of {}: the label, {}, {}{}", counted(found, "column"),
                                         needed, counted(expected.integers, "whole number"),
                                         data::counted_categories(expected.slots),
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
    const data::InputFile& file_;
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
    constexpr std::size_t max_digits = 16;
    const auto text = columns.next();
    if (text.empty()) return missing_id(slot);
    const auto category = parse_int<std::uint64_t>(text, 16);
    if (!category || text.size() > max_digits)
        columns.refuse(text, "no category: a hexadecimal number of up to 16 digits");
    return category_id(slot, *category);
}

class CriteoClicks final : public data::ClickStream {
  public:
    CriteoClicks(const std::filesystem::path& path, const ClickColumns& expected)
        : ClickStream(path), expected_(expected) {}

    std::int64_t integers() const override { return expected_.integers; }
    std::int64_t slots() const override { return expected_.slots; }

  private:
    bool append_next(ClickLog& log) override {
        std::string_view line;
        do
            if (!file_.next_line(line)) return false;
        while (line.empty());
        Columns columns(file_, line, expected_);
        log.labels.push_back(next_label(columns));
        for (std::int64_t i = 0; i < expected_.integers; ++i) log.dense.push_back(next_integer(columns));
        for (std::int64_t slot = 0; slot < expected_.slots; ++slot)
            log.ids.push_back(next_category(columns, slot));
        return true;
    }

    ClickColumns expected_;
};

}  // namespace

std::unique_ptr<data::ClickStream> data::stream_clicks(const std::filesystem::path& path,
                                                       const ClickColumns& columns) {
    if (const auto wrong = data::column_count_error(columns.integers, columns.slots, "whole number"))
        throw UsageError(*wrong);
    return std::make_unique<CriteoClicks>(path, columns);
}

}  // namespace dtrain
