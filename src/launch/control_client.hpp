// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "launch/job_record.hpp"
#include "launch/job_view.hpp"

namespace dtrain::launch {

/// A question to the launcher of a job on this machine, see ControlSocket.
class ControlClient {
  public:
    ControlClient(const JobRecord& record, const std::string& question);

    /// Readable when read_line() has something; -1 when the launcher cannot be asked.
    int fd() const { return socket_.get(); }

    /// The next line of the answer; nothing when none comes within the limit or there will be no more.
    std::optional<std::string> read_line(std::chrono::milliseconds limit);

    /// The launcher says nothing more: it has said all, or has ended.
    bool ended() const { return !socket_.valid() || ended_; }

  private:
    FileDescriptor socket_;
    std::string unfinished_line_;
    bool ended_ = false;
};

/// What a launcher says of its job; nothing when it does not answer in time.
/// @param question "summary" or "status"
std::optional<JobView> ask_for_view(const JobRecord& record, const std::string& question);

}  // namespace dtrain::launch
