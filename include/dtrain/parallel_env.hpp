// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// The environment of a program that trains on several ranks; corresponds to Paddle's init_parallel_env().
/// Create one object at the start of main() and keep it for as long as ranks communicate:
///
///     int main(int argc, char** argv) {
///         const dtrain::ParallelEnv env(argc, argv);
///         std::vector<float> gradients = ...;
///         env.communicator().allreduce(std::span(gradients), dtrain::Reduction::average);
///     }
///
/// Under a launcher (dtrain-launch, mpirun, srun) it initialises MPI for calls from this thread and finalises
/// it in its destructor. Started alone it is a world of one rank without MPI. During stack unwinding, and
/// after a CommunicatorTimeout, MPI is not finalised, because that would wait for ranks that do not know of
/// the failure. main() can report what happened; when the process exits, the other ranks are notified and end
/// with its status, or with 1 if it is 0. If all ranks threw together (throw_together), MPI is finalised
/// normally.
class ParallelEnv {
  public:
    /// Collective over the ranks of the job. The arguments are not changed.
    /// @throws MpiError; Error if MPI cannot be initialised (again)
    ParallelEnv(int argc, char** argv);
    ParallelEnv(const ParallelEnv&) = delete;
    ParallelEnv& operator=(const ParallelEnv&) = delete;
    ~ParallelEnv();

    /// Number of this rank in the job, from 0.
    int rank() const { return communicator_.rank(); }
    /// Number of ranks of the job.
    int world_size() const { return communicator_.size(); }
    int local_rank() const { return communicator_.node_rank(); }  ///< among the ranks of this node
    int local_size() const { return communicator_.node_size(); }  ///< ranks of this node
    int nodes() const { return communicator_.nodes(); }           ///< number of nodes

    /// "cpu", or "gpu:N" with the number of this rank's first GPU among those that the program sees, as set
    /// by dtrain-launch (FLAGS_selected_gpus).
    const std::string& device() const { return device_; }

    /// A communicator over all ranks.
    const Communicator& communicator() const { return communicator_; }

  private:
    int exceptions_;
    std::optional<MpiSession> session_;
    Communicator communicator_;
    std::string device_;
};

}  // namespace dtrain
