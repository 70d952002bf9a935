// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <dtrain/environment.hpp>

#include "comm/api/call.hpp"
#include "comm/node/node_board.hpp"
#include "trace/operation_log.hpp"
#include "trace/scoped_operation.hpp"

namespace dtrain::comm {

/// Records a communicator's operations in the operation log of this process; without one, does nothing.
class OperationTrace {
  public:
    using Ticket = trace::OperationLog::Ticket;

    /// @param job_ranks of each rank of the communicator
    /// @param over what it communicates over, if that is not the usual: "NCCL"
    OperationTrace(int rank, std::span<const int> job_ranks, std::string_view over = {});

    /// The group's name in reports, in place of its ranks.
    void name_group(std::string_view name);

    void begin(std::uint64_t number, const Call& call) {
        if (log_ != nullptr) tickets_[number % NodeBoard::ring] = log_->begin(operation_of(call, number));
    }
    void waits(std::uint64_t number) {
        if (log_ != nullptr) log_->waits(tickets_[number % NodeBoard::ring]);
    }
    void goes_on(std::uint64_t number) {
        if (log_ != nullptr) log_->goes_on(tickets_[number % NodeBoard::ring]);
    }
    void end(std::uint64_t number) {
        if (log_ != nullptr) log_->end(tickets_[number % NodeBoard::ring]);
    }

    /// The same for calls that keep what begin_call() returned as their Call::ticket.
    /// @param number of a collective operation; 0: a message
    Ticket begin_call(const Call& call, std::uint64_t number = 0) {
        return log_ == nullptr ? 0 : log_->begin(operation_of(call, number));
    }
    void waits(const Call& call) {
        if (log_ != nullptr) log_->waits(call.ticket);
    }
    void goes_on(const Call& call) {
        if (log_ != nullptr) log_->goes_on(call.ticket);
    }
    void end(const Call& call) {
        if (log_ != nullptr) log_->end(call.ticket);
    }

    /// The end of the communicator, in which its ranks wait for each other: until the result is destroyed.
    /// @param number among its collective operations
    trace::ScopedOperation free(std::uint64_t number);
    /// Until the result is destroyed, the rank's GPU has not come to the collective operation of this number.
    trace::ScopedOperation wait_for_gpu(std::uint64_t number);

  private:
    trace::BegunOperation operation_of(const Call& call, std::uint64_t number);
    trace::ScopedOperation waited_for(trace::OperationKind kind, std::string_view name, std::uint64_t number);
    /// Of an enumeration: the index of each name in the log; 0: not there yet.
    using Texts = std::array<std::uint16_t, 16>;
    template <class Enum>
    std::uint16_t text_of(Enum value, Texts& texts);

    trace::OperationLog* log_;
    std::uint16_t group_ = 0;
    Texts operations_{};
    Texts types_{};
    Texts reductions_{};
    std::array<Ticket, NodeBoard::ring> tickets_{};
};

/// What MPI's start and end are for the ranks of a job: operations that all of them call, and in which they
/// wait for each other. Recorded from construction to destruction; the start not as a wait, since MPI has
/// much to do then.
class TraceOfJob {
  public:
    enum class Of { start = 1, end = 2 };

    /// @param environment of a program that dtrain-worker has started: says how many ranks the job has
    TraceOfJob(Of which, const Environment& environment);

  private:
    trace::ScopedOperation operation_;
};

/// The line of the program that the next operations of this thread come from: "train.py:88"; "": unknown.
void note_source(std::string_view line);

/// "ranks 0-3", "ranks 0,2 (2)": a name that all ranks give to a communicator of these ranks of the job. As
/// they make them in the same order, the n-th one of the same ranks is the same for all.
std::string group_name(std::span<const int> job_ranks, int nth);

}  // namespace dtrain::comm
