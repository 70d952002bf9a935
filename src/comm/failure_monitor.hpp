// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <mpi.h>

#include <dtrain/comm_call.hpp>
#include <dtrain/comm_error.hpp>

#include "comm/node_map.hpp"

namespace dtrain::comm {

/// A rank on which an operation failed, by a code of whoever did it.
struct FailedRank {
    int rank = 0;
    int code = 0;
    friend bool operator==(const FailedRank&, const FailedRank&) = default;
};

/// Because of whom an operation is given up.
struct Absence {
    std::vector<MissingRank> missing;
    std::vector<FailedRank> failed;
};

/// How ranks find out about each other while they wait for something that is not MPI's: each says where it
/// is, and whoever gives up tells all others, which then give up too. Operations have numbers from 1.
class FailureMonitor {
  public:
    virtual ~FailureMonitor() = default;

    virtual int rank() const = 0;
    /// 0 is none.
    virtual std::chrono::duration<double> deadline() const = 0;

    virtual void note_started(std::uint64_t number, const Call& call) = 0;
    virtual void note_finished(std::uint64_t number) = 0;
    virtual void note_waits(std::uint64_t number, Operation operation) = 0;
    virtual void note_goes_on() = 0;
    /// @param code not 0
    virtual void note_failure(int code) = 0;

    virtual bool others_gave_up() = 0;
    /// Lets what MPI has under way go on: other ranks may need it before they can come.
    virtual void let_mpi_work() = 0;

    /// Tells the others that this rank gives up this operation, and asks where they are: for a second or two
    /// when there are several nodes.
    virtual Absence give_up(std::uint64_t number) = 0;
};

std::unique_ptr<FailureMonitor> local_failure_monitor();

/// Collective; `node` is of the ranks of this node.
std::unique_ptr<FailureMonitor> mpi_failure_monitor(MPI_Comm all, MPI_Comm node, NodeMap map,
                                                    std::chrono::seconds deadline);

}  // namespace dtrain::comm
