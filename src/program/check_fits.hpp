// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/executor.hpp>

namespace dtrain::program {

/// Whether a program that is to be compiled was made for these ranks, and for this kind of state.
/// @throws ProgramError
void check_fits(const Program& program, const State& state, const Communicator& communicator);

}  // namespace dtrain::program
