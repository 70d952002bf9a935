// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/executor.hpp>

namespace dtrain::program {

/// Checks that a program to be compiled was made for this number of ranks and this kind of state. @throws
/// ProgramError
void check_fits(const Program& program, const State& state, const Communicator& communicator);

/// Checks that several ranks exchange what they update with a program, or are not meant to. @throws
/// ProgramError
void check_ranks_train_together(const Program& program, const ExecutorOptions& options, int ranks);

/// Checks that a program has the servers that its operators use, and runs with the options that they require.
/// @throws ProgramError
void check_servers(const Program& program, const ExecutorOptions& options);

}  // namespace dtrain::program
