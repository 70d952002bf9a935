// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "comm/failure/leaving.hpp"
#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {

/// An MPI communicator that is freed by all its ranks together.
class OwnComm {
  public:
    explicit OwnComm(MPI_Comm handle) : handle_(handle) {
        check(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
    OwnComm(const OwnComm&) = delete;
    OwnComm& operator=(const OwnComm&) = delete;
    ~OwnComm() {
        if (!leaves_alone()) MPI_Comm_free(&handle_);
    }
    operator MPI_Comm() const { return handle_; }

  private:
    MPI_Comm handle_;
};

/// A separate communicator keeps our messages apart from those of others.
inline MPI_Comm copy_of(MPI_Comm communicator) {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
    return copy;
}

}  // namespace dtrain::comm
