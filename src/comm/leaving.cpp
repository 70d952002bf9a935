// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/leaving.hpp"

#include <exception>

#include "comm/mpi_error.hpp"

namespace dtrain::comm {
namespace {

bool agreed_failure = false;
bool broken = false;

}  // namespace

void note_agreed_failure(bool agreed) {
    agreed_failure = agreed;
}

bool failure_is_agreed() {
    return agreed_failure;
}

bool are_all_ranks(int ranks) {
    int all = ranks;
    if (mpi_is_running()) MPI_Comm_size(MPI_COMM_WORLD, &all);
    return ranks == all;
}

void note_broken() {
    broken = true;
}

bool is_broken() {
    return broken;
}

bool leaves_alone() {
    return broken || !mpi_is_running() || (std::uncaught_exceptions() > 0 && !agreed_failure);
}

}  // namespace dtrain::comm
