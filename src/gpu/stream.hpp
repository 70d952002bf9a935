// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::gpu {

/// A queue of work that is executed in order, asynchronously to the caller.
class Stream {
  public:
    /// A stream of this thread's current GPU.
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void* handle() const { return handle_; }
    void finish() const;

  private:
    void* handle_ = nullptr;
};

}  // namespace dtrain::gpu
