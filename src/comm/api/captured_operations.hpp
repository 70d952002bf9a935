// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "comm/api/call.hpp"

namespace dtrain::comm {

/// Operations that a stream waits for, not the caller: parts of a captured graph of the stream (a CUDA
/// graph), which all ranks then run many times. The rules for a communicator's errors apply to the runs: all
/// calls throw CommunicatorTimeout or NcclError once a rank has failed or does not arrive in time.
class CapturedOperations {
  public:
    virtual ~CapturedOperations() = default;

    /// The reason why this rank does not support them; "" if it does.
    virtual std::string why_not() const = 0;

    /// Waits for pending operations; afterwards the stream may be captured.
    virtual void begin_capture() = 0;
    /// Ends the capture, also if it failed and its partial result was destroyed. @throws the failure that
    /// ended all operations meanwhile
    virtual void end_capture() = 0;
    /// Adds an operation that starts once the captured stream reaches it, and runs concurrently with what
    /// follows.
    /// @returns a number for join()
    virtual std::size_t fork(const Call& call) = 0;
    /// Makes what follows in the captured stream wait for the operation.
    virtual void join(std::size_t operation) = 0;

    /// Call before a graph is launched. @throws the failure that ended all operations
    virtual void begin_run() = 0;
    /// Call after a launch: the run is then waited for like an operation.
    virtual void note_run() = 0;
    /// The number of the last run; 0: none yet.
    virtual std::uint64_t last_run() const = 0;
    /// Waits for the end of a run and of all earlier ones.
    virtual void wait_run(std::uint64_t number) = 0;

    /// Sets a function that destroys a graph: called after a failure, once the stream has finished. NCCL's
    /// abort does not return while a graph exists.
    virtual void on_failure(std::function<void()> destroy) = 0;
};

}  // namespace dtrain::comm
