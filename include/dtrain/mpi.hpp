// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <dtrain/communicator.hpp>

/// Between a Communicator and MPI's own communicators, for programs that also call MPI or libraries over it.
/// The only header that includes mpi.h: compile with MPI's compiler wrapper or its include directories.
namespace dtrain {

/// A Communicator of the ranks of `communicator`, in its order. Works on duplicates: operations do not
/// interfere with messages that the caller exchanges in `communicator`, which the caller keeps and may free
/// at any time. Collective over `communicator`.
///
/// MPI may have been initialised by the caller, with any thread level (with MPI_THREAD_MULTIPLE a thread
/// progresses operations between nodes). The caller then finalises it, after the last copy of this
/// Communicator and of those split from it has been destroyed.
/// @throws Error if MPI is not running, or `communicator` is MPI_COMM_NULL or an intercommunicator;
/// VersionMismatch on all ranks; MpiError
Communicator from_mpi(MPI_Comm communicator);

/// An MPI communicator of the same ranks in the same order, with MPI_ERRORS_ARE_FATAL. A duplicate that the
/// caller owns and frees (MPI_Comm_free) before MPI is finalised; it does not depend on the Communicator's
/// lifetime. Collective over `communicator`.
/// @throws Error for a world of one rank if MPI is not running; MpiError, CommunicatorTimeout
MPI_Comm to_mpi(const Communicator& communicator);

}  // namespace dtrain
