// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// The line that mpirun gives its remote shell, understood instead of run by a shell.
namespace dtrain::link {

struct DaemonCommand {
    Environment assignments;  ///< search paths and prefixes, complete
    std::string program;      ///< orted or prted, as mpirun names it
    std::vector<std::string> arguments;
    friend bool operator==(const DaemonCommand&, const DaemonCommand&) = default;
};

/// Understands what Open MPI 4.1 and 5.0 say to a POSIX shell: assignments of search paths, then the daemon
/// with its options, and nothing else. Pure.
/// @param environment of this node; "$PATH" in an assignment means its PATH
/// @throws UsageError naming what is not expected in such a line
DaemonCommand parse_daemon_command(std::string_view line, const Environment& environment);

/// This node's file for the daemon of a command: the one that its own Open MPI has.
/// @param same_file whether two paths are one file, both existing
/// @param in_path where a program is found in this node's PATH
/// @throws UsageError when the daemon that mpirun names is not there or is another one
struct LocalPrograms {
    std::function<std::optional<std::string>(const std::string& name)> in_path;
    std::function<bool(const std::string& a, const std::string& b)> same_file;
};
std::string local_daemon(const DaemonCommand& command, const LocalPrograms& programs);

}  // namespace dtrain::link
