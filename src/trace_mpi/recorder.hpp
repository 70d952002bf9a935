// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/operation_log.hpp"
#include "trace_mpi/groups.hpp"
#include "trace_mpi/mpi.hpp"
#include "trace_mpi/requests.hpp"
#include "trace_mpi/texts.hpp"

namespace dtrain::trace_mpi {

/// What a call sends or receives.
struct Elements {
    Elements() = default;
    Elements(int of, MPI_Datatype each) : count(static_cast<std::uint64_t>(of)), type(each) {}

    /// Each rank may have another number of them.
    static Elements differ(MPI_Datatype each) {
        Elements elements(0, each);
        elements.count = trace::unknown_count;
        return elements;
    }

    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// A call that all ranks of a communicator, window or file make in the same order.
struct CollectiveCall {
    const char* name;
    Where where;
    Elements elements;
    MPI_Op op = MPI_OP_NULL;
    int root = -1;
};

struct MessageCall {
    const char* name;
    trace::OperationKind kind;  ///< send or receive
    MPI_Comm comm;
    Elements elements;
    int peer;
    int tag;
};

/// A call that may wait, for something that is neither.
struct OtherCall {
    const char* name;
    Where where;
    Elements elements;
    int peer = -1;
};

/// Records the calls of this process.
class Recorder {
  public:
    /// Null if nothing is recorded: without DTRAIN_OPERATION_LOG, before MPI_Init, or in a call that the MPI
    /// library itself makes while it executes a recorded one.
    [[gnu::always_inline]] static Recorder* of_this_call() {
        if (!is_wanted) [[likely]]
            return nullptr;
        return depth > 0 ? nullptr : of_this_process();
    }

    /// For MPI_Init itself, whose ranks wait for each other, too.
    static Recorder* before_init();

    trace::BegunOperation describe(const CollectiveCall& call, const void* return_address);
    trace::BegunOperation describe(const MessageCall& call, const void* return_address);
    trace::BegunOperation describe(const OtherCall& call, const void* return_address);

    trace::OperationLog& log;
    Texts texts{log};
    Groups groups;
    Requests requests{log};

    /// Calls of MPI that this thread is in.
    [[gnu::tls_model("initial-exec")]] static thread_local constinit int depth;

  private:
    Recorder(trace::OperationLog& written, int rank, int size) : log(written), groups(written, rank, size) {}

    static Recorder* of_this_process();
    static Recorder* start(int rank, int size);
    static bool read_wish();

    static const bool is_wanted;
    static std::atomic<Recorder*> started;
};

/// What a thread does in a call of MPI is not recorded again.
class InCall {
  public:
    InCall() { ++Recorder::depth; }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;
    ~InCall() { --Recorder::depth; }
};

/// An operation that goes on as long as this lives, and that a thread waits for.
class BlockingOperation {
  public:
    BlockingOperation(Recorder& recorder, const trace::BegunOperation& operation)
        : log_(recorder.log), ticket_(log_.begin(operation)) {
        log_.waits(ticket_);
    }
    BlockingOperation(const BlockingOperation&) = delete;
    BlockingOperation& operator=(const BlockingOperation&) = delete;
    ~BlockingOperation() { log_.end(ticket_); }

  private:
    InCall in_call_;
    trace::OperationLog& log_;
    trace::OperationLog::Ticket ticket_;
};

}  // namespace dtrain::trace_mpi
