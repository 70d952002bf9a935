// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "worker/log_policy.hpp"

namespace dtrain::worker {

/// A log of bounded size that this process writes: `log` and its predecessor `log`.1, each of at most
/// LogPolicy::max_size bytes. Rotates between lines; only a line that is longer than a file is cut.
class RotatingLog {
  public:
    /// @param policy must have a max_size
    /// @throws UsageError if the log cannot be written
    RotatingLog(std::filesystem::path log, const LogPolicy& policy);

    /// Sets the function to call after each rotation.
    void on_rotation(std::function<void()> callback) { rotated_ = std::move(callback); }

    /// Also writes unfinished lines. Bytes that a full disk refuses are lost; the log says so as soon as it
    /// can be written again.
    void append(std::string_view bytes);

    const std::filesystem::path& path() const { return log_; }
    std::uintmax_t bytes_taken() const { return taken_; }
    /// errno of the first write that failed; 0: none.
    int first_error() const { return first_error_; }

  private:
    void append_fitting(std::string_view bytes);
    void write(std::string_view bytes);
    bool rotate();
    bool copy(std::uintmax_t begin, std::uintmax_t count, const FileDescriptor& to) const;
    void lose(std::size_t bytes);
    std::uintmax_t room() const;

    std::filesystem::path log_;
    LogPolicy policy_;
    FileDescriptor file_;
    std::function<void()> rotated_;
    std::uintmax_t size_ = 0;
    /// Start of the unfinished line at the end of the file; size_ if there is none.
    std::uintmax_t line_begin_ = 0;
    std::uintmax_t taken_ = 0;
    std::uintmax_t unreported_loss_ = 0;
    int first_error_ = 0;
};

}  // namespace dtrain::worker
