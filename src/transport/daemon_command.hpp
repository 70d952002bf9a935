// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// Parses the command line that mpirun gives its remote shell, instead of running it in a shell.
namespace dtrain::transport {

struct DaemonCommand {
    Environment assignments;  ///< search paths and prefixes, expanded
    std::string program;      ///< orted or prted, as named by mpirun
    std::vector<std::string> arguments;
    friend bool operator==(const DaemonCommand&, const DaemonCommand&) = default;
};

/// Parses the commands that Open MPI 4.1 and 5.0 write for a POSIX shell: assignments of search paths, then
/// the daemon with its options, and nothing else. Pure.
/// @param environment environment of this node; "$PATH" in an assignment means its PATH
/// @throws UsageError naming what is not expected in such a line
DaemonCommand parse_daemon_command(std::string_view line, const Environment& environment);

/// Finds this node's file for the daemon of a command: the one of its own Open MPI.
/// @param same_file whether two existing paths are the same file
/// @param in_path looks up a program in this node's PATH
/// @throws UsageError if the daemon that mpirun names does not exist here or is another one
struct LocalPrograms {
    std::function<std::optional<std::string>(const std::string& name)> in_path;
    std::function<bool(const std::string& a, const std::string& b)> same_file;
};
std::string local_daemon(const DaemonCommand& command, const LocalPrograms& programs);

}  // namespace dtrain::transport
