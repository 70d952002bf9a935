// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/stream.hpp"

namespace dtrain::gpu {

/// A point in a stream.
class Event {
  public:
    Event();
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    /// What the stream was given up to now is before it.
    void set(const Stream& stream);
    /// What this stream is given from now on waits for it. One never set is passed already.
    void hold(const Stream& stream) const;
    /// The caller waits for it.
    void wait() const;

  private:
    void* handle_ = nullptr;
};

}  // namespace dtrain::gpu
