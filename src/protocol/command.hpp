// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

/// Commands to a worker while its program runs.
namespace dtrain::cluster {

struct Command {
    enum class Kind {
        stop,         ///< stop the program, report, and stay until `leave`
        leave,        ///< exit
        give_way,     ///< another rank has failed, and no launcher will report it: stop the program, and exit
        show_stacks,  ///< report where the program is, and continue
        pass_on,      ///< forward `signal` to the program
        end,          ///< this rank's parent is ending, or gone: stop the program with `signal`, and exit
    };

    Kind kind = Kind::stop;
    int signal = 0;

    friend bool operator==(const Command&, const Command&) = default;
};

/// The launcher's commands as lines without line end, for launch backends that copy their stdin to all ranks
/// (srun). There is no line for `give_way`, which ranks send to each other, nor for `end`, which is the end
/// of the input.
std::string to_line(const Command& command);

/// A line that only shows that the launcher is still there; it is sent at this interval.
inline constexpr std::string_view keepalive_line = "alive";
inline constexpr std::chrono::seconds keepalive_interval{5};

/// The command in such a line, or nothing if it is not a command.
std::optional<Command> parse_command(std::string_view line);

}  // namespace dtrain::cluster
