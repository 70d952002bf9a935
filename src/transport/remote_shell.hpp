// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::transport {

/// The program that mpirun starts in place of ssh: `arguments` are a host and a command for its shell. The
/// launcher, reached at DTRAIN_AGENT_SOCKET, lets that node's agent run the command; this process lives as
/// long as the daemon there, prints its output and returns its status. If the node has no agent, this process
/// becomes ssh. With `--by SHELL` it becomes SHELL, a scheduler's remote shell that runs commands without a
/// shell, and makes it start one for the command.
/// @throws UsageError if nothing can be done with the arguments
/// @throws Error if the launcher ends first, or says what it should not
int run_remote_shell(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::transport
