// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <sys/types.h>

#include "base/files.hpp"

namespace dtrain::worker {

/// Shows on `console` what a program appends to its log, byte for byte and as it comes. The file is the
/// buffer: a slow reader costs no memory and loses nothing.
class LogFollower {
  public:
    /// Begins at the present end of the file.
    LogFollower(const std::filesystem::path& log, int console);

    /// Becomes readable when the file may have grown.
    int growth_fd() const { return watch_.get(); }
    /// Where to wait for POLLOUT while wants_to_write().
    int console_fd() const { return console_; }
    bool wants_to_write() const { return pending_; }

    /// Call when growth_fd() is readable.
    void note_growth();
    /// Call when console_fd() can be written: one piece that fits without blocking.
    void write_piece();
    /// Writes all that is there; blocks while the reader is slow, gives up when it is gone.
    void drain();

  private:
    FileDescriptor log_;
    FileDescriptor watch_;
    int console_;
    off_t shown_ = 0;
    bool pending_ = false;
    bool reader_gone_ = false;
};

}  // namespace dtrain::worker
