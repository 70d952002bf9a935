// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::gpu {

/// What is given to it is computed in that order, beside the caller.
class Stream {
  public:
    /// Of the current GPU of this thread.
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
