// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/mpi.hpp>
#include <dtrain/version.hpp>

#include "comm/api/backend.hpp"
#include "comm/api/own_node_rank.hpp"
#include "comm/api/own_world_size.hpp"
#include "comm/mpi/mpi_backend.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/same_version.hpp"

namespace dtrain {
namespace {

bool is_world(MPI_Comm communicator) {
    int result = MPI_UNEQUAL;
    comm::check(MPI_Comm_compare(communicator, MPI_COMM_WORLD, &result), "MPI_Comm_compare");
    return result == MPI_IDENT || result == MPI_CONGRUENT;
}

}  // namespace

Communicator from_mpi(MPI_Comm communicator) {
    if (!comm::mpi_is_running())
        throw Error("from_mpi: MPI is not running; call MPI_Init_thread first, or make an MpiSession");
    if (communicator == MPI_COMM_NULL)
        throw Error("from_mpi: MPI_COMM_NULL has no ranks; only the ranks of a group call it");
    int is_intercommunicator = 0;
    comm::check(MPI_Comm_test_inter(communicator, &is_intercommunicator), "MPI_Comm_test_inter");
    if (is_intercommunicator != 0)
        throw Error("from_mpi: an intercommunicator has two groups; merge them by MPI_Intercomm_merge");
    comm::check_same_version(communicator, version);
    Communicator ranks(comm::mpi_backend(communicator));
    if (is_world(communicator)) {
        comm::note_own_node_rank(ranks.node_rank());
        comm::note_own_world_size(ranks.size());
    }
    return ranks;
}

MPI_Comm to_mpi(const Communicator& communicator) {
    MPI_Comm copy = comm::backend_of(communicator)->copy_for_mpi();
    comm::check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_ARE_FATAL), "MPI_Comm_set_errhandler");
    return copy;
}

}  // namespace dtrain
