// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "base/files.hpp"
#include "topology/xid.hpp"

namespace dtrain::worker {

/// GPU errors (Xid) that the kernel logs from now on. Finds none if this process may not read the kernel log
/// (kernel.dmesg_restrict).
class XidWatch {
  public:
    explicit XidWatch(const std::filesystem::path& kernel_log = topology::usual_kernel_log);

    /// Readable when the kernel has logged something; -1 if poll() cannot tell, as for a plain file.
    int fd() const { return is_pollable_ ? log_.get() : -1; }

    /// Errors since the previous call, or since construction.
    std::vector<topology::Xid> take();

    /// Call at the end of the log, which a real kernel log does not have.
    void end() { log_.reset(); }

  private:
    FileDescriptor log_;
    bool is_pollable_ = false;
};

}  // namespace dtrain::worker
