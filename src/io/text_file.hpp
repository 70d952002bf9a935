// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dtrain::io {

/// A file that is read from its beginning to its end, uncompressed on the way when it is gzip's. Errors are
/// UsageErrors that name the file.
class InputFile {
  public:
    explicit InputFile(const std::filesystem::path& path);

    /// Fills the buffer, or less of it where the file ends. Returns the number of bytes.
    std::size_t read(std::span<std::byte> buffer);

    /// The next line without its end (\n or \r\n), good until the next call; false at the end of the file.
    bool next_line(std::string_view& line);
    /// Of the line that next_line() gave, from 1.
    std::int64_t line_number() const { return line_number_; }
    /// Of the file as it is stored, by read() and next_line().
    std::int64_t bytes_read() const;

    /// @throws UsageError "FILE:LINE: what"
    [[noreturn]] void refuse_line(const std::string& what) const;
    /// @throws UsageError "FILE: what"
    [[noreturn]] void refuse(const std::string& what) const;

  private:
    struct Close {
        void operator()(void* file) const;
    };

    std::filesystem::path path_;
    std::unique_ptr<void, Close> file_;
    std::string text_;    ///< read, but not given as lines
    std::size_t at_ = 0;  ///< in text_
    bool at_end_ = false;
    std::int64_t line_number_ = 0;
};

}  // namespace dtrain::io
