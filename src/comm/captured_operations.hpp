// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <dtrain/comm_call.hpp>

namespace dtrain::comm {

/// Operations that a stream waits for, and not the caller: parts of a graph of it (a CUDA graph), which
/// is then run many times, by all ranks. What was said of a communicator's errors holds for the runs: all
/// calls throw CommunicatorTimeout or NcclError once a rank has failed or does not come.
class CapturedOperations {
  public:
    virtual ~CapturedOperations() = default;

    /// Why there can be none on this rank; "" when there can.
    virtual std::string why_not() const = 0;

    /// Waits for what is under way; the stream may be captured then.
    virtual void begin_capture() = 0;
    /// After it, also when it failed and what there was of it is destroyed. @throws what has ended all
    /// meanwhile
    virtual void end_capture() = 0;
    /// An operation that begins when the captured stream is there, beside what comes after it.
    /// @returns a number for join()
    virtual std::size_t fork(const Call& call) = 0;
    /// What comes after this in the captured stream waits for it.
    virtual void join(std::size_t operation) = 0;

    /// Before a graph is given to the stream. @throws what has ended all
    virtual void begin_run() = 0;
    /// After it: from now on its end is waited for as that of an operation.
    virtual void note_run() = 0;
    /// The number of the last run; 0: there was none.
    virtual std::uint64_t last_run() const = 0;
    /// Waits for the end of a run and of all before it.
    virtual void wait_run(std::uint64_t number) = 0;

    /// What destroys a graph: called after a failure, when the stream has come to its end. NCCL is not
    /// aborted as long as there is one.
    virtual void on_failure(std::function<void()> destroy) = 0;
};

}  // namespace dtrain::comm
