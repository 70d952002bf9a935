// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "base/files.hpp"
#include "topology/xid.hpp"

namespace dtrain::worker {

/// Errors of GPUs that the kernel logs while somebody watches. Silent where this process may not read the
/// kernel log (kernel.dmesg_restrict).
class XidWatch {
  public:
    explicit XidWatch(const std::filesystem::path& kernel_log = topology::usual_kernel_log);

    /// Readable when the kernel has logged something; -1 where nothing would tell, as of a plain file.
    int fd() const { return tells_ ? log_.get() : -1; }

    /// Those since the watch began or was asked before.
    std::vector<topology::Xid> take();

    /// The log has ended, as that of no kernel does.
    void end() { log_.reset(); }

  private:
    FileDescriptor log_;
    bool tells_ = false;
};

}  // namespace dtrain::worker
