// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/leaving.hpp"

#include <exception>

#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {
namespace {

int agreed_by = 0;  // number of ranks
bool broken = false;

}  // namespace

void note_agreed_failure(int ranks) {
    agreed_by = ranks;
}

bool failure_is_agreed_by(int ranks) {
    return agreed_by == ranks;
}

bool failure_is_agreed() {
    int all = agreed_by;
    if (mpi_is_running()) MPI_Comm_size(MPI_COMM_WORLD, &all);
    return agreed_by > 0 && agreed_by == all;
}

void note_broken() {
    broken = true;
}

bool is_broken() {
    return broken;
}

bool leaves_alone() {
    return broken || !mpi_is_running() || (std::uncaught_exceptions() > 0 && !failure_is_agreed());
}

}  // namespace dtrain::comm
