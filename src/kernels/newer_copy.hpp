// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dtrain::kernels {

/// Which of the two copies of some memory, on the host and on a device, has been written last: what must be
/// transferred before one of them is used.
class NewerCopy {
  public:
    static NewerCopy on_host() { return NewerCopy(Side::host); }
    static NewerCopy on_device() { return NewerCopy(Side::device); }

    /// Before the device copy is used.
    bool needs_upload() const { return newer_ == Side::host; }
    /// Before the host copy is used.
    bool needs_download() const { return newer_ == Side::device; }

    /// Call it when the transfer that was needed has been done, or is enqueued before any use of its result.
    void note_alike() { newer_ = Side::none; }
    /// The other copy is outdated; what it had and this one has not is lost.
    void note_written_on_host() { newer_ = Side::host; }
    void note_written_on_device() { newer_ = Side::device; }

  private:
    enum class Side : std::uint8_t { none, host, device };

    explicit NewerCopy(Side newer) : newer_(newer) {}

    Side newer_;
};

}  // namespace dtrain::kernels
