// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::comm {

/// So many ranks, all of a communicator, are about to throw the same error; 0: none. Holds until the next
/// operation of any MPI communicator.
void note_agreed_failure(int ranks);
bool failure_is_agreed_by(int ranks);

/// All of MPI's ranks throw it, so that ending MPI while unwinding waits for nobody.
bool failure_is_agreed();

/// Some communicator waited in vain: from now on nothing waits for other ranks.
void note_broken();
bool is_broken();

/// True when this rank must not wait for others in a destructor: MPI has ended, or an exception unwinds that
/// the others know nothing of, or a wait was in vain.
bool leaves_alone();

}  // namespace dtrain::comm
