// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "data/csv_fields.hpp"
#include "data/read_dataset.hpp"

namespace dtrain::data {
namespace {

/// Whether the first line is a header. A line that is neither clearly a header nor clearly a sample is an
/// error, so that no sample is dropped silently.
bool is_header(const InputFile& file, std::span<const std::string_view> fields) {
    const auto kind = kind_of_first_line(fields);
    if (kind != FirstLine::unclear) return kind == FirstLine::names;
    const auto bad = std::ranges::find_if(fields, [](std::string_view text) { return !parse_number(text); });
    file.refuse_line(
        fmt::format("'{}' is no number; if this line has the names of the columns, say so (header = true)",
                    one_line(*bad, 40)));
}

std::size_t label_column(const InputFile& file, const DatasetSource& source,
                         std::span<const std::string_view> first, bool has_header) {
    if (source.label_column.empty()) return first.size() - 1;
    if (has_header)
        if (const auto found = std::ranges::find(first, source.label_column); found != first.end())
            return static_cast<std::size_t>(found - first.begin());
    const auto number = parse_int<std::size_t>(source.label_column).value_or(0);
    if (number < 1 || number > first.size())
        file.refuse_line(fmt::format("there is no column '{}' among {} {}", source.label_column, first.size(),
                                     plural(first.size(), "column")));
    return number - 1;
}

}  // namespace

Dataset read_csv(const DatasetSource& source) {
    InputFile file(source.file);
    std::string_view line;
    CsvFields cut(source.separator);
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    std::size_t columns = 0;
    std::size_t label = 0;
    while (file.next_line(line)) {
        if (trimmed(line).empty()) continue;
        const auto fields = cut.of(file, columns == 0 ? without_byte_order_mark(line) : line);
        if (columns == 0) {
            columns = fields.size();
            if (columns < 2)
                file.refuse_line(fmt::format("there is no '{}' in it; a line needs a value and a label",
                                             source.separator));
            const bool has_header = source.header ? *source.header : is_header(file, fields);
            label = label_column(file, source, fields, has_header);
            if (has_header) continue;
        }
        if (fields.size() != columns)
            file.refuse_line(
                fmt::format("{} {} instead of {}", fields.size(), plural(fields.size(), "column"), columns));
        for (std::size_t i = 0; i < columns; ++i)
            if (i != label) x.push_back(number_in(file, fields[i], source.scale));
        labels.push_back(label_in(file, fields[label]));
    }
    if (labels.empty()) file.refuse("there is no sample in it");
    return Dataset(std::move(x), std::move(labels), static_cast<std::int64_t>(columns - 1));
}

}  // namespace dtrain::data
