// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "data/read_clicks.hpp"
#include "data/read_dataset.hpp"
#include "data/svmlight_line.hpp"

namespace dtrain {
namespace {

constexpr std::int64_t max_first_id = std::int64_t{1} << 62;

void refuse_bad_columns(const SvmlightClickColumns& columns) {
    auto slots = static_cast<std::int64_t>(columns.slot_ids.size());
    if (slots == 0) slots = columns.slots == 0 ? 1 : columns.slots;
    if (const auto wrong = data::column_count_error(columns.numbers, slots)) throw UsageError(*wrong);
    if (columns.first_id < 0 || columns.first_id > max_first_id)
        throw UsageError(fmt::format("the least id of a click log is {}; it must be in 0..{}",
                                     columns.first_id, max_first_id));
    auto below = columns.first_id + columns.numbers - 1;
    for (const auto id : columns.slot_ids) {
        if (id <= below)
            throw UsageError(
                fmt::format("the slots of a click log begin with the ids {}: {} must be above {}",
                            fmt::join(columns.slot_ids, ", "), id, below));
        below = id;
    }
}

/// Interprets the words of a line as label, numbers and categories.
class SvmlightClicks final : public data::ClickStream {
  public:
    SvmlightClicks(const std::filesystem::path& path, const SvmlightClickColumns& columns)
        : ClickStream(path),
          columns_(columns),
          slots_(columns.slot_ids.empty() ? columns.slots
                                          : static_cast<std::int64_t>(columns.slot_ids.size())) {}

    std::int64_t integers() const override { return columns_.numbers; }
    /// As configured, or as found in the first line.
    std::int64_t slots() const override { return slots_; }

  private:
    bool append_next(ClickLog& log) override {
        std::string_view text;
        while (file_.next_line(text)) {
            data::SvmlightLine line(file_, text, columns_.first_id);
            if (line.label().empty()) continue;
            log.labels.push_back(label(line.label()));
            read_features(line);
            log.dense.insert(log.dense.end(), numbers_.begin(), numbers_.end());
            log.ids.insert(log.ids.end(), ids_.begin(), ids_.end());
            return true;
        }
        return false;
    }

    float label(std::string_view text) {
        const auto value = data::parse_number(text);
        if (value == 1) return 1;
        if (value != 0 && value != -1)
            file_.refuse_line(
                fmt::format("'{}' is no label: 1 for a click, else 0 or -1", one_line(text, 40)));
        if (no_click_.value_or(*value) != *value)
            file_.refuse_line(
                fmt::format("the label {}, but an earlier line has {} for no click", *value, *no_click_));
        no_click_ = value;
        return 0;
    }

    void read_features(data::SvmlightLine& line) {
        const bool has_ranges = !columns_.slot_ids.empty();
        numbers_.assign(static_cast<std::size_t>(columns_.numbers), 0);
        is_present_.assign(numbers_.size() + columns_.slot_ids.size(), false);
        ids_.clear();
        if (has_ranges)
            for (std::int64_t slot = 0; slot < slots_; ++slot) ids_.push_back(missing_id(slot));
        while (const auto feature = line.next()) {
            const auto index = feature->id - columns_.first_id;
            if (index < columns_.numbers)
                read_number(line, *feature, static_cast<std::size_t>(index));
            else if (has_ranges)
                put_into_its_slot(line, *feature);
            else
                append_category(line, *feature);
        }
        if (!has_ranges) check_count();
    }

    void read_number(const data::SvmlightLine& line, const data::SvmlightLine::Feature& feature,
                     std::size_t index) {
        const auto value = data::parse_number(feature.value);
        if (!value || !std::isfinite(*value)) line.refuse(feature.word, "its value is no finite number");
        if (is_present_[index]) line.refuse(feature.word, "its id is there twice");
        is_present_[index] = true;
        numbers_[index] = damped(*value);
    }

    void put_into_its_slot(const data::SvmlightLine& line, const data::SvmlightLine::Feature& feature) {
        check_category(line, feature);
        const auto& firsts = columns_.slot_ids;
        const auto behind = std::ranges::upper_bound(firsts, feature.id);
        if (behind == firsts.begin())
            line.refuse(feature.word,
                        fmt::format("its id is below those of the first slot, {} and more", firsts.front()));
        const auto slot = behind - firsts.begin() - 1;
        const auto index = numbers_.size() + static_cast<std::size_t>(slot);
        if (is_present_[index])
            line.refuse(feature.word, fmt::format("a second category in the slot of the ids from {}",
                                                  firsts[static_cast<std::size_t>(slot)]));
        is_present_[index] = true;
        ids_[static_cast<std::size_t>(slot)] = category_id(slot, static_cast<std::uint64_t>(feature.id));
    }

    void append_category(const data::SvmlightLine& line, const data::SvmlightLine::Feature& feature) {
        check_category(line, feature);
        const auto slot = static_cast<std::int64_t>(ids_.size());
        ids_.push_back(category_id(slot, static_cast<std::uint64_t>(feature.id)));
    }

    void check_category(const data::SvmlightLine& line, const data::SvmlightLine::Feature& feature) const {
        if (data::parse_number(feature.value) == 1) return;
        const auto last = columns_.first_id + columns_.numbers - 1;
        line.refuse(feature.word,
                    columns_.numbers == 0
                        ? "the value of a category is 1; no ids are said to be those of numbers"
                        : fmt::format("the value of a category is 1; ids of numbers are {} to {}",
                                      columns_.first_id, last));
    }

    void check_count() {
        const auto found = static_cast<std::int64_t>(ids_.size());
        if (slots_ == 0) {
            if (found == 0 || found > max_click_columns)
                file_.refuse_line(
                    fmt::format("{}: a line has 1..{}", data::counted_categories(found), max_click_columns));
            slots_ = found;
        }
        if (found != slots_)
            file_.refuse_line(fmt::format(
                "{} instead of {}: lines may leave categories out only where the first id of each "
                "slot is told",
                data::counted_categories(found), slots_));
    }

    SvmlightClickColumns columns_;
    std::int64_t slots_;
    std::optional<double> no_click_;  ///< 0 or -1
    // Of the current line:
    std::vector<float> numbers_;
    std::vector<std::int64_t> ids_;
    std::vector<bool> is_present_;  ///< numbers, then the slots given by ranges of ids
};

}  // namespace

std::unique_ptr<data::ClickStream> data::stream_clicks(const std::filesystem::path& path,
                                                       const SvmlightClickColumns& columns) {
    refuse_bad_columns(columns);
    return std::make_unique<SvmlightClicks>(path, columns);
}

SvmlightClickColumns data::columns_in(const std::filesystem::path& log, const SvmlightClickColumns& columns) {
    const auto clicks = stream_clicks(log, columns);
    ClickLog first;
    clicks->next(first);
    auto out = columns;
    out.slots = clicks->slots();
    return out;
}

}  // namespace dtrain
