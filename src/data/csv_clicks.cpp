// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <dtrain/click_log.hpp>

#include "base/text.hpp"
#include "data/csv_fields.hpp"
#include "data/read_clicks.hpp"
#include "data/read_dataset.hpp"

namespace dtrain {
namespace {

constexpr std::size_t max_value = 40;  ///< maximum length in messages

std::optional<float> label_of(std::string_view text) {
    const auto value = data::parse_number(text);
    if (value == 0 || value == 1) return static_cast<float>(*value);
    return std::nullopt;
}

/// The columns of a log, from its first line and the requested columns.
class CsvColumns {
  public:
    CsvColumns(const data::InputFile& file, std::span<const std::string_view> first,
               const CsvClickColumns& wanted)
        : file_(file), names_(first.begin(), first.end()) {
        if (names_.size() < 2)
            file.refuse_line(
                fmt::format("there is no '{}' in it, but a line needs a label and a category; is "
                            "the separator another one?",
                            wanted.separator));
        has_header_ = wanted.header.value_or(!begins_with_a_sample(wanted));
        label_ = wanted.label.empty() ? usual_label() : find(wanted.label);
        if (wanted.numbers) numbers_ = find(*wanted.numbers);
        if (wanted.categories) categories_ = find(*wanted.categories);
        refuse_columns_used_twice();
        if (!wanted.categories)
            categories_ = all_others(numbers_);
        else if (!wanted.numbers)
            numbers_ = all_others(categories_);
        if (const auto wrong = data::column_count_error(static_cast<std::int64_t>(numbers_.size()),
                                                        static_cast<std::int64_t>(categories_.size())))
            file.refuse_line(*wrong);
    }

    bool has_header() const { return has_header_; }
    std::size_t count() const { return names_.size(); }
    std::size_t label() const { return label_; }
    const std::vector<std::size_t>& numbers() const { return numbers_; }
    const std::vector<std::size_t>& categories() const { return categories_; }

    /// Its name if unique, else its number.
    std::string word_for(std::size_t column) const {
        const bool is_reported =
            has_header_ && !names_[column].empty() && std::ranges::count(names_, names_[column]) == 1;
        return is_reported ? names_[column] : std::to_string(column + 1);
    }
    std::vector<std::string> words_for(const std::vector<std::size_t>& columns) const {
        std::vector<std::string> words;
        words.reserve(columns.size());
        for (const auto column : columns) words.push_back(word_for(column));
        return words;
    }

    [[noreturn]] void refuse(std::string_view field, std::size_t column, const char* what) const {
        const auto name = has_header_ ? fmt::format(", '{}',", one_line(names_[column], max_value)) : "";
        file_.refuse_line(
            fmt::format("'{}' in column {}{} is {}", one_line(field, max_value), column + 1, name, what));
    }

  private:
    bool has(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

    /// Whether the label column of the first line contains a label.
    bool begins_with_a_sample(const CsvClickColumns& wanted) const {
        if (wanted.label.empty()) return !has("label") && !has("click") && label_of(names_[0]).has_value();
        const auto number = parse_int<std::size_t>(wanted.label).value_or(0);
        if (number < 1 || number > names_.size()) return false;
        const auto& text = names_[number - 1];
        if (label_of(text)) return true;
        if (data::is_meant_as_number(text))
            file_.refuse_line(
                fmt::format("'{}' in column {} is no label: 1 for a click, or 0; if this line has the "
                            "names of the columns, say so (header = true)",
                            one_line(text, max_value), number));
        return false;
    }

    std::size_t usual_label() const {
        if (!has_header_) return 0;
        if (has("label") == has("click"))
            file_.refuse_line(
                fmt::format("{} column is called 'label' or 'click'; say which one is the label",
                            has("label") ? "more than one" : "no"));
        return find(has("label") ? "label" : "click");
    }

    std::size_t find(const std::string& word) const {
        const auto named = has_header_ ? std::ranges::count(names_, word) : 0;
        if (named > 1) file_.refuse_line(fmt::format("{} columns are called '{}'", named, one_line(word)));
        if (named == 1) return static_cast<std::size_t>(std::ranges::find(names_, word) - names_.begin());
        const auto number = parse_int<std::size_t>(word).value_or(0);
        if (number < 1 || number > names_.size()) refuse_unknown(word);
        return number - 1;
    }
    std::vector<std::size_t> find(const std::vector<std::string>& words) const {
        std::vector<std::size_t> columns;
        columns.reserve(words.size());
        for (const auto& word : words) columns.push_back(find(word));
        return columns;
    }

    [[noreturn]] void refuse_unknown(const std::string& word) const {
        const auto near = has_header_ ? nearest(word, names_) : std::nullopt;
        file_.refuse_line(fmt::format("there is no column '{}' among {}{}", one_line(word, max_value),
                                      counted(static_cast<std::int64_t>(names_.size()), "column"),
                                      near ? fmt::format("; did you mean '{}'?", one_line(*near, max_value))
                                      : has_header_ ? ""
                                                    : ", and no header"));
    }

    void refuse_columns_used_twice() const {
        std::vector<bool> is_used(names_.size());
        is_used[label_] = true;
        for (const auto* columns : {&numbers_, &categories_})
            for (const auto column : *columns) {
                if (is_used[column])
                    file_.refuse_line(fmt::format("column '{}' cannot be two of label, number and category",
                                                  one_line(word_for(column), max_value)));
                is_used[column] = true;
            }
    }

    std::vector<std::size_t> all_others(const std::vector<std::size_t>& columns) const {
        std::vector<std::size_t> others;
        for (std::size_t column = 0; column < names_.size(); ++column)
            if (column != label_ && std::ranges::find(columns, column) == columns.end())
                others.push_back(column);
        return others;
    }

    const data::InputFile& file_;
    std::vector<std::string> names_;  ///< fields of the first line: the column names if it is a header
    bool has_header_ = false;
    std::size_t label_ = 0;
    std::vector<std::size_t> numbers_;
    std::vector<std::size_t> categories_;
};

/// A log with comma- or otherwise separated fields.
class CsvClicks final : public data::ClickStream {
  public:
    CsvClicks(const std::filesystem::path& path, const CsvClickColumns& wanted)
        : ClickStream(path), cut_(wanted.separator) {
        if (!next_line()) file_.refuse("there is no sample in it");
        columns_.emplace(file_, fields_, wanted);
        is_at_sample_ = !columns_->has_header();
    }

    const CsvColumns& columns() const { return *columns_; }

    std::int64_t integers() const override { return static_cast<std::int64_t>(columns_->numbers().size()); }
    std::int64_t slots() const override { return static_cast<std::int64_t>(columns_->categories().size()); }

  private:
    bool append_next(ClickLog& log) override {
        if (!is_at_sample_ && !next_line()) return false;
        is_at_sample_ = false;
        if (fields_.size() != columns_->count())
            file_.refuse_line(fmt::format("{} {} instead of {}", fields_.size(),
                                          plural(fields_.size(), "column"), columns_->count()));
        append_sample(log);
        return true;
    }

    bool next_line() {
        std::string_view line;
        while (file_.next_line(line)) {
            if (!columns_) line = data::without_byte_order_mark(line);
            if (line.find_first_not_of(' ') == std::string_view::npos) continue;
            fields_ = cut_.of(file_, line);
            return true;
        }
        return false;
    }

    void append_sample(ClickLog& log) const {
        const auto label = label_of(fields_[columns_->label()]);
        if (!label)
            columns_->refuse(fields_[columns_->label()], columns_->label(), "no label: 1 for a click, or 0");
        log.labels.push_back(*label);
        for (const auto column : columns_->numbers()) log.dense.push_back(number(column));
        for (std::int64_t slot = 0; slot < slots(); ++slot) {
            const auto text = fields_[columns_->categories()[static_cast<std::size_t>(slot)]];
            log.ids.push_back(text.empty() ? missing_id(slot) : category_id(slot, text_category(text)));
        }
    }

    float number(std::size_t column) const {
        const auto text = fields_[column];
        if (text.empty()) return 0;
        const auto value = data::parse_number(text);
        if (!value || !std::isfinite(*value)) columns_->refuse(text, column, "no finite number");
        return damped(*value);
    }

    data::CsvFields cut_;
    std::span<const std::string_view> fields_;
    std::optional<CsvColumns> columns_;
    bool is_at_sample_ = false;  ///< the current line is a sample that has not been returned yet
};

}  // namespace

std::unique_ptr<data::ClickStream> data::stream_clicks(const std::filesystem::path& file,
                                                       const CsvClickColumns& columns) {
    return std::make_unique<CsvClicks>(file, columns);
}

CsvClickColumns data::columns_in(const std::filesystem::path& log, const CsvClickColumns& wanted) {
    const CsvClicks clicks(log, wanted);
    const auto& columns = clicks.columns();
    return {.label = columns.word_for(columns.label()),
            .numbers = columns.words_for(columns.numbers()),
            .categories = columns.words_for(columns.categories()),
            .separator = wanted.separator,
            .header = columns.has_header()};
}

}  // namespace dtrain
