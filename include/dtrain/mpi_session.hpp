// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// A communicator over a copy of MPI_COMM_WORLD. Collective. MPI must be initialised (MpiSession) and stay so
/// while any copy lives. @throws MpiError, Error when MPI is not initialised
Communicator mpi_world();

/// MPI's life in this process: initialised with MPI_THREAD_MULTIPLE where the library has it (a thread lets
/// operations between nodes go on while the program computes; communicators are still for one thread) and
/// ended with the object. While an exception unwinds it is not ended, unless all ranks threw together:
/// MPI_Finalize would wait for ranks that know nothing of the failure. Nor is it after a CommunicatorTimeout.
/// Call abort_job() after saying what happened.
class MpiSession {
  public:
    /// Threads of OpenMP, which compute matrix products, are as many as processors() for the thread that
    /// calls this, unless OMP_NUM_THREADS or omp_set_num_threads() has said how many.
    /// @throws MpiError, Error when MPI cannot be initialised (again); VersionMismatch on all ranks, and MPI
    /// has ended then
    MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
    ~MpiSession();

    /// A communicator over all ranks.
    const Communicator& world() const { return *world_; }

    /// Processors that this rank has for itself: of those that it may use (sched_getaffinity) an equal share
    /// with the ranks of its node that may use some of them too; at least 1.
    int processors() const { return processors_; }

    /// "Open MPI v4.1.4 ...", "MPICH Version: 4.0.2": the library that runs, one line.
    static std::string library_version();

  private:
    int exceptions_ = 0;
    int processors_ = 1;
    std::optional<Communicator> world_;
};

/// Ends all ranks of the job with this status, when MPI is running; otherwise ends the process.
[[noreturn]] void abort_job(int status);

}  // namespace dtrain
