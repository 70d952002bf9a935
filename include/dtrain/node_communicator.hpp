// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// Where a process is among the ranks of a node_communicator().
struct NodeRanks {
    /// What the ranks find each other by, the same on all of them: from node_communicator_name(), or any
    /// other text of 1 to 200 letters, digits, "-", "_" and "." that no other group of ranks on the machine
    /// uses.
    std::string name;
    int rank = 0;  ///< from 0
    int size = 1;  ///< number of ranks, 1 to 1024
    /// How long to wait for the other ranks at the start. Operations later wait as long as
    /// DTRAIN_COMM_TIMEOUT says.
    std::chrono::duration<double> timeout = std::chrono::minutes(5);
};

/// A fresh name that nobody can guess. One rank makes it and passes it to the others: in an environment
/// variable, a pipe, a file, torch's Store.
std::string node_communicator_name();

/// A communicator of processes of one machine that calls no MPI: the processes may be started by anything
/// (torchrun, multiprocessing), and MPI need not be initialised, nor is it. They share memory in /dev/shm,
/// whose name is gone when this function returns. All that a Communicator does works, but to_mpi().
///
/// A rank whose process ends before an operation is complete, or that destroys its communicator, makes the
/// others throw CommunicatorTimeout, which names it and says so, within about a second. Without a rank's
/// cooperation nothing more can be done with this communicator then; the others may make a new one.
///
/// Collective over the processes that pass the same name; destroying it is not. A process may have several,
/// in a program with MPI, too; a forked child cannot use those of its parent.
/// @throws UsageError if a field is not valid, this rank has come already, or ranks pass different sizes;
/// VersionMismatch on all ranks; Error if ranks do not come in time, which it names, or if there is no shared
/// memory
Communicator node_communicator(const NodeRanks& ranks);

}  // namespace dtrain
