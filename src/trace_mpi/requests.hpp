// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "trace/operation_log.hpp"
#include "trace_mpi/mpi.hpp"

namespace dtrain::trace_mpi {

/// An operation that goes on by itself.
struct Pending {
    trace::OperationLog::Ticket ticket = 0;  ///< 0: none that is known
    trace::BegunOperation operation;
};

/// The operations of MPI_Request handles.
class Requests {
  public:
    explicit Requests(trace::OperationLog& log) : log_(log) {}

    /// What the handle had before ends: MPI has one handle for all that it completes at once, and the program
    /// may have completed it without this library's knowledge.
    void add(MPI_Request request, const Pending& pending);

    Pending of(MPI_Request request);

    /// A thread waits for it from now on. @returns what it is now: the log may have lost it among later ones
    Pending waits(MPI_Request request);

    /// It is complete. Nothing if another thread has got the handle for a new operation since.
    void end(MPI_Request request, trace::OperationLog::Ticket ticket);

    void add_persistent(MPI_Request request, const trace::BegunOperation& operation);
    std::optional<trace::BegunOperation> persistent(MPI_Request request);
    void remove_persistent(MPI_Request request);

  private:
    /// Threads that communicate at the same time seldom meet in one.
    struct Shard {
        std::mutex mutex;
        std::unordered_map<std::uintptr_t, Pending> pending;
        std::unordered_map<std::uintptr_t, trace::BegunOperation> persistent;
    };

    Shard& shard_of(std::uintptr_t key) { return shards_[(key >> 8 ^ key >> 4 ^ key) % shards_.size()]; }

    trace::OperationLog& log_;
    std::array<Shard, 16> shards_;
};

}  // namespace dtrain::trace_mpi
