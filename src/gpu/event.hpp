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

    /// Records the event after everything enqueued in the stream so far.
    void set(const Stream& stream);
    /// Makes work enqueued in this stream from now on wait for the event. An event that was never set counts
    /// as reached.
    void hold(const Stream& stream) const;
    /// Makes the caller wait for the event.
    void wait() const;

  private:
    void* handle_ = nullptr;
};

}  // namespace dtrain::gpu
