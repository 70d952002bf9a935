// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/rank_error.hpp"

/// Events that a worker reports to the launcher on its stderr, as lines_of() has them.
namespace dtrain::cluster {

/// Event::code of an idle rank.
enum class Inactivity {
    sleeps = 0,    ///< uses no processor
    waits = 1,     ///< uses it while it waits in an operation
    computes = 2,  ///< uses it for something else
};

struct Event {
    enum class Kind {
        started,     ///< the program runs; `pid`, `cpus`
        exited,      ///< the program ended by itself with a status other than 0; `code` or `signal`; `text`:
                     ///< its machine's info about the cause
        stopped,     ///< the program was told to stop and has ended, or could no longer be started
        done,        ///< the program ended with 0 and none of its processes is left
        issue,       ///< the worker could not start the program; `text`
        port_taken,  ///< like issue, because a port of the plan is taken; `text`
        warning,     ///< a problem that does not end the program; `text`
        idle,        ///< the program has been inactive for `idle_ms`; `text`: where it is; `code`: Inactivity
        active,      ///< it is no longer idle
        output,      ///< `text`: the end of a failed program's output
        alive,       ///< heartbeat of the worker of a node's first rank, sent every few seconds
        stacks,      ///< `text`: the next piece of the requested stacks
        stacks_end,  ///< the stacks are complete; `text`: the file on its node that has them, "" for none
        gpus,        ///< GPU usage until the program ended; `text`: metrics::gpus_text()
        console,     ///< `text`: the next piece of what the launcher shows, on its stderr; `code` 1: on
                     ///< its stdout, and text_of_bytes()
        gpu_error,   ///< the kernel of its node logged a GPU error; `text`
        state,       ///< what the rank does, and its last operations; `state`
    };

    Kind kind = Kind::started;
    int rank = 0;
    std::string host;
    int pid = 0;
    int code = 0;
    int signal = 0;
    std::int64_t time_us = 0;  ///< time of the event, in microseconds since 1970
    std::int64_t idle_ms = 0;
    std::string cpus;  ///< the actual CPU mask of the program, "0-3"
    std::string text;
    std::string error;  ///< exited, stopped: the program's own error, as to_json(RankError) has it; "": none

    std::string state;  ///< of Kind::state: to_json(trace::RankState, max_event_state)

    friend bool operator==(const Event&, const Event&) = default;
};

/// Longer texts are cut, except the end of a program's output, and what is to be shown (Kind::console).
inline constexpr std::size_t max_event_text = 500;
/// Of what is to be shown, as JSON has it (piece_to_show()); a longer text is cut, too.
inline constexpr std::size_t max_shown_json = 3400;
/// For to_json(RankError); a longer error is left out. A text that does not fit beside it is cut.
inline constexpr std::size_t max_event_error = 1400;

/// For a state; a longer one is left out. It has no text beside it.
inline constexpr std::size_t max_event_state = 3400;

/// One checked_line() with JSON, shorter than PIPE_BUF so that it is written atomically.
std::string encode(const Event& event);

/// The event in a line, or nothing if the line is not an event or was corrupted.
std::optional<Event> decode(std::string_view line);

/// The same of a line's content, which has been checked.
std::optional<Event> parse_event(std::string_view json);

/// The program's own error that the event has, or nothing.
std::optional<RankError> error_of(const Event& event);

/// The event as a sentence for people: "rank 1 on node7: the program ended with exit code 7".
std::string to_sentence(const Event& event);

}  // namespace dtrain::cluster
