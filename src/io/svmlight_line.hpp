// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/text_file.hpp"

namespace dtrain::io {

/// "LABEL ID:VALUE ID:VALUE ... # comment", word by word.
class SvmlightLine {
  public:
    struct Feature {
        std::string_view word;
        std::int64_t id = 0;
        std::string_view value;
    };

    /// @param first_id the least one
    SvmlightLine(const InputFile& file, std::string_view line, std::int64_t first_id);

    /// Empty: the line says nothing.
    std::string_view label() const { return label_; }

    /// The next one, or nothing at the line's end. "qid:" is passed over.
    /// @throws UsageError naming the place when a word is no ID:VALUE
    std::optional<Feature> next();

    /// Complains of a word of the line.
    [[noreturn]] void refuse(std::string_view word, const std::string& what) const;

  private:
    const InputFile& file_;
    std::string_view rest_;
    std::string_view label_;
    std::int64_t first_id_;
};

}  // namespace dtrain::io
