// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

/// The thread that progresses operations across nodes while the program computes. MPI transfers most messages
/// only while it is being called.
namespace dtrain::comm {

/// Held by the thread that works with the operations of this process: the program's, or the progress thread.
using Turn = std::unique_lock<std::recursive_mutex>;

/// Waits for the progress thread to pause. Without a progress thread it does nothing, at no cost.
Turn take_turn();

/// Announces operations across nodes. From then on every turn is taken. If MPI was initialised without
/// MPI_THREAD_MULTIPLE there is no progress thread.
void expect_help();
bool has_help();

/// There is an operation that can progress while nobody waits for it. The turn must be held. Does nothing
/// without a progress thread.
void ask_for_help();

/// Call before MPI is finalised. The turn must not be held.
void end_help();

}  // namespace dtrain::comm
