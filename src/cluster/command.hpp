// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

/// What a worker is told while its program runs.
namespace dtrain::cluster {

struct Command {
    enum class Kind {
        stop,         ///< stop the program, report, and stay until told to leave
        leave,        ///< end
        give_way,     ///< another rank has failed, and nobody else will say so: stop the program, and leave
        show_stacks,  ///< tell where the program is, and go on
        pass_on,      ///< `signal` is for the program
        end,  ///< whoever started this rank is going, or gone: stop the program with `signal`, and leave
    };

    Kind kind = Kind::stop;
    int signal = 0;

    friend bool operator==(const Command&, const Command&) = default;
};

/// The launcher's commands as lines without line end, for engines that copy their stdin to all ranks (srun).
/// There are none for `give_way`, which ranks say to each other, and for `end`: then the lines end.
std::string to_line(const Command& command);

/// The line that says nothing but that the launcher is still there; it comes this often.
inline constexpr std::string_view keepalive_line = "alive";
inline constexpr std::chrono::seconds keepalive_interval{5};

/// The command in such a line, or nothing when it is none.
std::optional<Command> parse_command(std::string_view line);

}  // namespace dtrain::cluster
