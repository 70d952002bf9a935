// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::link {

/// What mpirun starts in place of ssh: `arguments` are a host and a command for its shell. The launcher,
/// reached at DTRAIN_AGENT_SOCKET, has the command run by that node's agent; this process lives as long as
/// the daemon there, prints what it prints and returns its status. Where no agent is, it becomes ssh.
/// Behind `--by SHELL` it becomes SHELL, a scheduler's remote shell that runs words without a shell, and has
/// it start one for the command.
int run_remote_shell(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::link
