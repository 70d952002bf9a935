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
    explicit XidWatch(const std::filesystem::path& kernel_log = "/dev/kmsg");

    /// Those since the watch began or was asked before.
    std::vector<topology::Xid> take();

  private:
    FileDescriptor log_;
};

}  // namespace dtrain::worker
