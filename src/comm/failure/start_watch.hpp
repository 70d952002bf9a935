// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/files.hpp"
#include "base/rank_error.hpp"

namespace dtrain::comm {

/// Determines which ranks of a node have reached MPI's initialisation, before they can communicate: each
/// binds a socket to a name (in Linux' abstract namespace, where it disappears with the process) that the
/// others try to connect to.
class StartMark {
  public:
    /// Binds this rank's socket; none if the environment is not that of Open MPI's mpirun.
    explicit StartMark(const Environment& environment);

    /// Describes MPI's initialisation as an operation that has waited for `waited`: "MPI_Init number 1 waited
    /// 30.0 s for rank 0 (has not come to it)". With several nodes, numbers in the job are unknown.
    RankError error_after(std::chrono::duration<double> waited) const;

  private:
    std::string name_of(int local_rank) const;
    std::vector<int> missing() const;

    std::string job_;
    int local_rank_ = 0;
    int local_size_ = 0;  ///< 0: unknown
    int size_ = 0;
    FileDescriptor socket_;
};

/// A deadline for MPI's initialisation, which has none of its own and cannot be cancelled: if MPI does not
/// start within the deadline, or within 30 s if that is longer, since ranks may be started one after the
/// other, the process reports the missing ranks and exits with status 1.
class StartWatch {
  public:
    /// @param deadline 0: none; DTRAIN_MPI_START_TIMEOUT of the environment, in seconds, overrides it
    StartWatch(const Environment& environment, std::chrono::seconds deadline);
    StartWatch(const StartWatch&) = delete;
    StartWatch& operator=(const StartWatch&) = delete;
    ~StartWatch() = default;

  private:
    std::jthread thread_;
};

}  // namespace dtrain::comm
