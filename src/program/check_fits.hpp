// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/executor.hpp>

namespace dtrain::program {

/// Whether a program that is to be compiled was made for these ranks, and for this kind of state.
/// @throws ProgramError
void check_fits(const Program& program, const State& state, const Communicator& communicator);

/// Whether what several ranks update with a program they also exchange, or do not mean to.
/// @throws ProgramError
void check_ranks_train_together(const Program& program, const ExecutorOptions& options, int ranks);

/// Whether a program has the servers that its operators talk to, and is run as those need it.
/// @throws ProgramError
void check_servers(const Program& program, const ExecutorOptions& options);

/// @throws ProgramError when a table of the program is for parameter servers alone
void check_has_no_distributed_table(const Program& program);

}  // namespace dtrain::program
