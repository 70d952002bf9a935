// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "launch/jobs/job_record.hpp"
#include "launch/jobs/job_view.hpp"

namespace dtrain::launch {

/// A request to the launcher of a job on this machine, see ControlSocket.
class ControlClient {
  public:
    ControlClient(const JobRecord& record, const std::string& question);

    /// Readable when read_line() has data; -1 if the launcher cannot be asked.
    int fd() const { return socket_.get(); }

    /// The next line of the answer; nothing if none is complete within the limit, or the answer has ended.
    /// One that is longer than those of a launcher ends it.
    std::optional<std::string> read_line(std::chrono::milliseconds limit);

    /// The launcher sends nothing more: the answer is complete, or the launcher has ended.
    bool ended() const { return !socket_.valid() || ended_; }

  private:
    FileDescriptor socket_;
    std::string unfinished_line_;
    bool ended_ = false;
};

/// The launcher's view of its job; nothing if it does not answer in time.
/// @param question "summary" or "status"
std::optional<JobView> ask_for_view(const JobRecord& record, const std::string& question);

}  // namespace dtrain::launch
