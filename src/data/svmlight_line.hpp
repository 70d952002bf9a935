// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/text_file.hpp"

namespace dtrain::data {

/// "LABEL ID:VALUE ID:VALUE ... # comment", word by word.
class SvmlightLine {
  public:
    struct Feature {
        std::string_view word;
        std::int64_t id = 0;
        std::string_view value;
    };

    /// @param first_id the smallest id
    SvmlightLine(const InputFile& file, std::string_view line, std::int64_t first_id);

    /// Empty: nothing but a comment or blanks.
    std::string_view label() const { return label_; }

    /// The next feature, or nothing at the end of the line. Skips "qid:".
    /// @throws UsageError naming the location if a word is not ID:VALUE
    std::optional<Feature> next();

    /// Throws a UsageError about a word of the line.
    [[noreturn]] void refuse(std::string_view word, const std::string& what) const;

  private:
    const InputFile& file_;
    std::string_view rest_;
    std::string_view label_;
    std::int64_t first_id_;
};

}  // namespace dtrain::data
