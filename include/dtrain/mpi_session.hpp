// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// A communicator over a duplicate of MPI_COMM_WORLD. Collective. MPI must be initialised (MpiSession) and
/// stay so while any copy lives. @throws MpiError, Error if MPI is not initialised
Communicator mpi_world();

/// Lifetime of MPI in this process: initialised with MPI_THREAD_MULTIPLE if the library supports it (a thread
/// then progresses operations between nodes while the program computes; communicators may still be used by
/// one thread only) and finalised in the destructor. It is not finalised during stack unwinding, unless all
/// ranks threw together, because MPI_Finalize would wait for ranks that do not know of the failure; nor after
/// a CommunicatorTimeout. Call abort_job() after reporting what happened.
class MpiSession {
  public:
    /// Sets the number of OpenMP threads, which compute matrix products, to processors() for the calling
    /// thread, unless OMP_NUM_THREADS or omp_set_num_threads() has set it.
    /// @throws MpiError, Error if MPI cannot be initialised (again); VersionMismatch on all ranks, and MPI
    /// has then been finalised
    MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
    ~MpiSession();

    /// A communicator over all ranks.
    const Communicator& world() const { return *world_; }

    /// Number of CPU cores for this rank alone: an equal part of those that it may use (sched_getaffinity)
    /// among the ranks of its node that may use any of them too; at least 1.
    int processors() const { return processors_; }

    /// Version of the loaded library in one line: "Open MPI v4.1.4 ...", "MPICH Version: 4.0.2".
    static std::string library_version();

  private:
    int exceptions_ = 0;
    int processors_ = 1;
    std::optional<Communicator> world_;
};

/// Ends all ranks of the job with this status if MPI is running; otherwise ends the process.
[[noreturn]] void abort_job(int status);

}  // namespace dtrain
