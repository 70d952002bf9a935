// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// The environment of a program that trains on several ranks; what Paddle's documents call
/// init_parallel_env(). One object, at the head of main(), for as long as there is anything to communicate:
///
///     int main(int argc, char** argv) {
///         const dtrain::ParallelEnv env(argc, argv);
///         std::vector<float> gradients = ...;
///         env.communicator().allreduce(std::span(gradients), dtrain::Reduction::average);
///     }
///
/// Started by a launcher (dtrain-launch, mpirun, srun) it initialises MPI for calls from this thread and ends
/// it with its own end. Started alone it is a world of one rank without MPI. While an exception unwinds, and
/// after a CommunicatorTimeout, MPI is not ended, because that would wait for ranks that know nothing of the
/// failure. main() can say what happened; when the process exits the other ranks are told and end with its
/// status, or with 1 where it is 0. When all ranks threw together (throw_together) MPI ends in order.
class ParallelEnv {
  public:
    /// Collective over the ranks of the job. The arguments are not changed.
    /// @throws MpiError; Error when MPI cannot be initialised (again)
    ParallelEnv(int argc, char** argv);
    ParallelEnv(const ParallelEnv&) = delete;
    ParallelEnv& operator=(const ParallelEnv&) = delete;
    ~ParallelEnv();

    int rank() const { return communicator_.rank(); }
    int world_size() const { return communicator_.size(); }
    int local_rank() const { return communicator_.node_rank(); }  ///< among the ranks of this node
    int local_size() const { return communicator_.node_size(); }  ///< ranks of this node
    int nodes() const { return communicator_.nodes(); }           ///< number of nodes

    /// "cpu", or "gpu:N" with the number of this rank's first GPU among those that the program sees, as
    /// dtrain-launch said it (FLAGS_selected_gpus).
    const std::string& device() const { return device_; }

    /// All ranks.
    const Communicator& communicator() const { return communicator_; }

  private:
    int exceptions_;
    std::optional<MpiSession> session_;
    Communicator communicator_;
    std::string device_;
};

}  // namespace dtrain
