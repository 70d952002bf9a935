// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::native {

/// Runs the native job of one rank, from command line to exit status. Initializes MPI.
/// @param command how the program was called, for messages and advice
int run(const std::string& command, std::vector<std::string> arguments);

}  // namespace dtrain::native
