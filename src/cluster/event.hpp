// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What a worker tells the launcher, one line each, on its stderr.
namespace dtrain::cluster {

struct Event {
    enum class Kind {
        started,     ///< the program runs; `pid`, `cpus`
        exited,      ///< the program ended by itself and not with 0; `code` or `signal`; `text`: what its
                     ///< machine has to say about that
        stopped,     ///< the program was told to stop and has ended, or could not be started any more
        done,        ///< the program ended with 0 and nothing of it is left
        issue,       ///< the worker could not start the program; `text`
        port_taken,  ///< as issue, because a port of the plan is taken; `text`
        warning,     ///< something that the program survives; `text`
        idle,        ///< the program does nothing any more, since `idle_ms`; `text`: where it is
        active,      ///< it was idle and no longer is
        output,      ///< `text`: the end of what a program that failed had written
        alive,       ///< the worker of a node's first rank is there: sent every few seconds
        stacks,      ///< `text`: the next piece of the stacks that were asked for
        stacks_end,  ///< that was all of them; `text`: the file on its node that has them, "" for none
        gpus,        ///< how its GPUs were used until the program ended; `text`: report::gpus_text()
        gpu_error,   ///< the kernel of its node has logged one; `text`
    };

    Kind kind = Kind::started;
    int rank = 0;
    std::string host;
    int pid = 0;
    int code = 0;
    int signal = 0;
    std::int64_t time_us = 0;  ///< when it happened, microseconds since 1970
    std::int64_t idle_ms = 0;
    std::string cpus;  ///< the mask the program really has, "0-3"
    std::string text;

    friend bool operator==(const Event&, const Event&) = default;
};

/// Begins every event line; no text program prints it by accident.
inline constexpr char event_marker = '\x1e';

/// Longer texts are cut, but for the end of a program's output.
inline constexpr std::size_t max_event_text = 500;

/// One line without its line end, below PIPE_BUF so that it is written in one piece: marker, CRC-32 in hex, a
/// blank, JSON.
std::string encode(const Event& event);

/// The event in a line, or nothing when the line is not an event or was torn on its way.
std::optional<Event> decode(std::string_view line);

/// The event as a sentence for people: "rank 1 on node7: the program ended with exit code 7".
std::string to_sentence(const Event& event);

std::int64_t now_us();

}  // namespace dtrain::cluster
