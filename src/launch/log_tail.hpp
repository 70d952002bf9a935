// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>

#include "base/files.hpp"

namespace dtrain::launch {

/// What a log holds from some place on, also what is appended later, also when the log begins anew in another
/// file of that name.
class LogTail {
  public:
    /// @param prefix before each line; "": the log byte for byte
    LogTail(std::filesystem::path log, std::uintmax_t begin, std::string prefix);

    /// Shows what has come. False when nobody reads any more.
    /// @param complete nothing will follow: a line without an end is shown, too
    bool show(int console, bool complete);

  private:
    bool open();
    bool begins_anew() const;
    bool show_pending(int console, bool complete);

    std::filesystem::path log_;
    off_t at_;
    std::string prefix_;
    FileDescriptor file_;
    std::string pending_;  ///< read, and not shown yet
};

}  // namespace dtrain::launch
