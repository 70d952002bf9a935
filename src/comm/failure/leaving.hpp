// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::comm {

/// Records that `ranks` ranks, all of a communicator, are about to throw the same error; 0: none. Reset by
/// the next operation of any MPI communicator.
void note_agreed_failure(int ranks);
bool failure_is_agreed_by(int ranks);

/// True if all MPI ranks throw it, so that MPI can be finalised during unwinding.
bool failure_is_agreed();

/// A communicator's deadline has passed: from now on nothing waits for other ranks.
void note_broken();
bool is_broken();

/// True if this rank must not wait for others in a destructor: MPI has ended, an exception that the others do
/// not know of is unwinding the stack, or a deadline has passed.
bool leaves_alone();

}  // namespace dtrain::comm
