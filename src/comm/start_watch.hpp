// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/files.hpp"

namespace dtrain::comm {

/// Which of a node's ranks have come to the start of MPI, where they cannot ask each other yet: each keeps a
/// socket with a name (Linux' abstract ones, which are gone with their process) that the others look for.
class StartMark {
  public:
    /// Puts up this rank's mark; none where the environment is not that of Open MPI's mpirun.
    explicit StartMark(const Environment& environment);

    /// In words, for MPI's start as an operation that waited for so long: "MPI_Init number 1 waited 30.0 s
    /// for rank 0 (has not come to it)".
    std::string whom_it_waits_for(std::chrono::duration<double> waited) const;

  private:
    std::string name_of(int local_rank) const;
    std::vector<int> missing() const;

    std::string job_;
    int local_rank_ = 0;
    int local_size_ = 0;  ///< 0: not known
    int size_ = 0;
    FileDescriptor socket_;
};

/// While it lives MPI may start: after this deadline, or 30 s where that is less, since ranks may be started
/// one after the other, the process says for whom it waits and ends with status 1. MPI's start has no
/// deadline of its own, and no way out but this one.
class StartWatch {
  public:
    /// @param deadline 0: none; the environment's DTRAIN_MPI_START_TIMEOUT, in seconds, counts in its place
    StartWatch(const Environment& environment, std::chrono::seconds deadline);
    StartWatch(const StartWatch&) = delete;
    StartWatch& operator=(const StartWatch&) = delete;
    ~StartWatch() = default;

  private:
    std::jthread thread_;
};

}  // namespace dtrain::comm
