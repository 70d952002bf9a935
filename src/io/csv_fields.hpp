// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_file.hpp"

namespace dtrain::io {

/// Cuts the lines of a CSV file into fields, as RFC 4180 says: a field in quotes may have separators in it,
/// and quotes, each written as two; but not line ends. Blanks around a field do not count.
class CsvFields {
  public:
    explicit CsvFields(char separator) : separator_(separator) {}

    /// The fields of a line of the file, good until the next call and as long as the line.
    /// @throws UsageError naming the place where quotes are not closed, or not followed by a separator
    std::span<const std::string_view> of(const InputFile& file, std::string_view line);

  private:
    /// A field in quotes, and what comes behind it goes from `rest`.
    std::string_view quoted(const InputFile& file, std::string_view& rest);
    std::string_view without_blanks_ahead(std::string_view text) const;

    char separator_;
    std::vector<std::string_view> fields_;
    std::deque<std::string> unescaped_;  ///< what some fields are views of
};

/// What the first line of a file is, where nobody says whether it is a header: fields that are numbers, names
/// alone (a few may be empty), or both, or something that is meant as a number and is none.
enum class FirstLine { numbers, names, unclear };
FirstLine kind_of_first_line(std::span<const std::string_view> fields);

/// Whether a text was meant as a number, or as one that is missing: "1.2.3", "12 kg", "", "NA".
bool is_meant_as_number(std::string_view text);

/// The text without the byte order mark of UTF-8 that some programs begin a file with.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace dtrain::io
