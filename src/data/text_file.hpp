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

namespace dtrain::data {

/// A file that is read sequentially, and decompressed if it is gzipped. Errors are UsageErrors that name the
/// file.
class InputFile {
  public:
    explicit InputFile(const std::filesystem::path& path);

    /// Fills the buffer, or part of it at the end of the file. Returns the number of bytes.
    std::size_t read(std::span<std::byte> buffer);

    /// The next line without its line end (\n or \r\n), valid until the next call; false at the end of the
    /// file.
    bool next_line(std::string_view& line);
    /// 1-based number of the line returned by next_line().
    std::int64_t line_number() const { return line_number_; }
    /// Offset in the file as stored, after read() and next_line().
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
    std::string text_;    ///< read, but not yet returned as lines
    std::size_t at_ = 0;  ///< offset in text_
    bool at_end_ = false;
    std::int64_t line_number_ = 0;
};

}  // namespace dtrain::data
