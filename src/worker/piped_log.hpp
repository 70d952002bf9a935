// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/rotating_log.hpp"

namespace dtrain::worker {

/// A program's output on its way through a pipe into a log of bounded size.
class PipedLog {
  public:
    explicit PipedLog(RotatingLog log);

    /// What the program writes into; the pipe ends when all that have it are gone.
    FileDescriptor take_write_end() { return std::move(pipe_.write_end); }

    /// Readable when there is output; -1 after the end.
    int fd() const { return pipe_.read_end.get(); }
    void take_piece() { take(); }
    /// What has arrived already, when nothing more will.
    void take_rest();

    RotatingLog& log() { return log_; }

  private:
    bool take();

    RotatingLog log_;
    Pipe pipe_;
};

}  // namespace dtrain::worker
