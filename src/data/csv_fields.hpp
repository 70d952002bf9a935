// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_file.hpp"

namespace dtrain::data {

/// Splits the lines of a CSV file into fields according to RFC 4180: a quoted field may contain separators,
/// and quotes written twice, but no line ends. Blanks around a field are ignored.
class CsvFields {
  public:
    explicit CsvFields(char separator) : separator_(separator) {}

    /// The fields of a line of the file, valid until the next call and as long as the line.
    /// @throws UsageError naming the location if quotes are not closed, or not followed by a separator
    std::span<const std::string_view> of(const InputFile& file, std::string_view line);

  private:
    /// Reads a quoted field and removes it from `rest`.
    std::string_view quoted(const InputFile& file, std::string_view& rest);
    std::string_view without_blanks_ahead(std::string_view text) const;

    char separator_;
    std::vector<std::string_view> fields_;
    std::deque<std::string> unescaped_;  ///< storage for fields with escaped quotes
};

/// The kind of a first line that may be a header: numbers only; names only (a few may be empty); or unclear,
/// that is both, or something that looks like a malformed number.
enum class FirstLine { numbers, names, unclear };
FirstLine kind_of_first_line(std::span<const std::string_view> fields);

/// Whether a text was meant as a number or a missing one: "1.2.3", "12 kg", "", "NA".
bool is_meant_as_number(std::string_view text);

/// The text without the UTF-8 byte order mark that some programs write at the start of a file.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace dtrain::data
