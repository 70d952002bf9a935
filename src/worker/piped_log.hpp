// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/rotating_log.hpp"

namespace dtrain::worker {

/// Passes a program's output from a pipe into a log of bounded size.
class PipedLog {
  public:
    explicit PipedLog(RotatingLog log);

    /// The end that the program writes into; the pipe ends when all processes that hold it are gone.
    FileDescriptor take_write_end() { return std::move(pipe_.write_end); }

    /// Readable when there is output; -1 after the end of the pipe.
    int fd() const { return pipe_.read_end.get(); }
    void take_piece() { take(); }
    /// Takes what is still in the pipe; call when the program has ended.
    void take_rest();

    RotatingLog& log() { return log_; }

  private:
    bool take();

    RotatingLog log_;
    Pipe pipe_;
};

}  // namespace dtrain::worker
