// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/svmlight_line.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::data {
namespace {

/// Removes the text up to the next blank from `line` and returns it; empty at the end.
std::string_view next_word(std::string_view& line) {
    const auto begin = std::min(line.find_first_not_of(" \t"), line.size());
    const auto end = std::min(line.find_first_of(" \t", begin), line.size());
    const auto word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

}  // namespace

SvmlightLine::SvmlightLine(const InputFile& file, std::string_view line, std::int64_t first_id)
    : file_(file), rest_(line.substr(0, line.find('#'))), label_(next_word(rest_)), first_id_(first_id) {}

std::optional<SvmlightLine::Feature> SvmlightLine::next() {
    for (auto word = next_word(rest_); !word.empty(); word = next_word(rest_)) {
        const auto colon = word.find(':');
        if (colon == std::string_view::npos || word.find(':', colon + 1) != std::string_view::npos)
            file_.refuse_line(fmt::format("'{}' is not ID:VALUE", one_line(word, 40)));
        if (word.substr(0, colon) == "qid") continue;
        const auto id = parse_int<std::int64_t>(word.substr(0, colon));
        if (!id || *id < first_id_)
            refuse(word, fmt::format("a feature id is a whole number, {} or more", first_id_));
        return Feature{word, *id, word.substr(colon + 1)};
    }
    return std::nullopt;
}

void SvmlightLine::refuse(std::string_view word, const std::string& what) const {
    file_.refuse_line(fmt::format("'{}': {}", one_line(word, 40), what));
}

}  // namespace dtrain::data
