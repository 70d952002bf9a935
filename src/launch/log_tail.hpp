// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>

#include "base/files.hpp"

namespace dtrain::launch {

/// Follows a log from an offset on: prints its content and what is appended later, even if the log is
/// recreated as another file of that name.
class LogTail {
  public:
    /// @param prefix printed before each line; "": the log is copied byte for byte
    LogTail(std::filesystem::path log, std::uintmax_t begin, std::string prefix);

    /// Prints new content. False if the reader of the console is gone.
    /// @param complete nothing will follow: an unfinished last line is printed, too
    bool show(int console, bool complete);

  private:
    bool open();
    bool begins_anew() const;
    bool show_pending(int console, bool complete);

    std::filesystem::path log_;
    off_t at_;
    std::string prefix_;
    FileDescriptor file_;
    std::string pending_;  ///< read, and not printed yet
};

}  // namespace dtrain::launch
