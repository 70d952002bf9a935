// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

/// The thread that lets operations across nodes go on while the program computes. MPI moves most messages
/// only while somebody calls it.
namespace dtrain::comm {

/// Held by whoever works with the operations of this process: the thread of the program, or the progress
/// thread.
using Turn = std::unique_lock<std::recursive_mutex>;

/// Waits for the progress thread to pause. Without a progress thread this costs and does nothing.
Turn take_turn();

/// Says that operations across nodes will come. From here on every turn is taken. When MPI was initialised
/// without MPI_THREAD_MULTIPLE there will be no progress thread.
void expect_help();
bool has_help();

/// There is an operation that can go on while nobody waits for it. The turn must be held. Nothing happens
/// where there is no help.
void ask_for_help();

/// Before MPI ends. The turn must not be held.
void end_help();

}  // namespace dtrain::comm
