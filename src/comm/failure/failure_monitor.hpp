// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <mpi.h>

#include <dtrain/comm_error.hpp>

#include "comm/api/call.hpp"
#include "comm/node/node_map.hpp"

namespace dtrain::comm {

class NodeRendezvous;

/// A rank on which an operation failed, with an error code of the failing backend.
struct FailedRank {
    int rank = 0;
    int code = 0;
    friend bool operator==(const FailedRank&, const FailedRank&) = default;
};

/// The ranks because of which an operation is given up.
struct Absence {
    std::vector<MissingRank> missing;
    std::vector<FailedRank> failed;
};

/// Lets ranks find out about each other while they wait for something outside MPI: each publishes its state,
/// and a rank that gives up notifies all others, which then give up too. Operations are numbered from 1.
class FailureMonitor {
  public:
    virtual ~FailureMonitor() = default;

    virtual int rank() const = 0;
    /// The number in the job of each rank; empty: they are the same.
    virtual std::vector<int> job_ranks() const { return {}; }
    /// 0: none.
    virtual std::chrono::duration<double> deadline() const = 0;

    virtual void note_started(std::uint64_t number, const Call& call) = 0;
    virtual void note_finished(std::uint64_t number) = 0;
    virtual void note_waits(std::uint64_t number, Operation operation) = 0;
    virtual void note_goes_on() = 0;
    /// @param code not 0
    virtual void note_failure(int code) = 0;

    virtual bool others_gave_up() = 0;
    /// Progresses pending MPI operations: other ranks may need them before they can arrive.
    virtual void let_mpi_work() = 0;

    /// Notifies the others that this rank gives up this operation, and asks for their state: takes a second
    /// or two with several nodes.
    virtual Absence give_up(std::uint64_t number) = 0;
};

std::unique_ptr<FailureMonitor> local_failure_monitor();

/// Collective; `node` has the ranks of this node.
std::unique_ptr<FailureMonitor> mpi_failure_monitor(MPI_Comm all, MPI_Comm node, NodeMap map,
                                                    std::chrono::seconds deadline);

/// Not collective: the ranks have met. Their parts have NodeBoard::bytes_of_a_rank().
/// @param job_ranks number of each rank in reports
std::unique_ptr<FailureMonitor> node_failure_monitor(std::unique_ptr<NodeRendezvous> ranks,
                                                     std::vector<int> job_ranks,
                                                     std::chrono::seconds deadline);

}  // namespace dtrain::comm
