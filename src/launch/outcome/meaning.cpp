// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/meaning.hpp"

#include <csignal>

#include <fmt/format.h>

#include "base/status_retry_later.hpp"

namespace dtrain::launch {
namespace {

std::optional<std::string> meaning_of_signal(int signal) {
    switch (signal) {
        case SIGKILL:
            return "killed from outside: look for the OOM killer, a scheduler's limit, or a person";
        case SIGSEGV:
            return "an access to memory that is not the program's: a bug in it or in a library it uses";
        case SIGBUS:
            return "memory that nothing stands behind: is /dev/shm full, or was a mapped file cut short?";
        case SIGABRT:
            return "the program gave up by itself: a failed check, a C++ exception that nobody caught, or a "
                   "damaged heap";
        case SIGILL:
            return "an instruction that this CPU does not have: built for another one?";
        case SIGFPE:
            return "a whole number divided by zero, or too large";
        case SIGPIPE:
            return "wrote to a pipe or connection whose reader was gone";
        case SIGSYS:
            return "a system call that a sandbox or container forbids";
        case SIGXCPU:
            return "used up its CPU time (ulimit -t)";
        case SIGXFSZ:
            return "wrote a file larger than allowed (ulimit -f)";
        case SIGTERM:
        case SIGINT:
        case SIGHUP:
        case SIGQUIT:
            return "asked to end, and not by dtrain-launch: by a scheduler, another process or a person";
        case SIGUSR1:
        case SIGUSR2:
            return "sent to dtrain-launch or to it, and the program has no handler for it";
        case SIGALRM:
            return "a timer of the program's own ran out";
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<std::string> usual_meaning(const ExitStatus& status) {
    constexpr int first_of_signals = 128;
    if (status.signal != 0) return meaning_of_signal(status.signal);
    if (status.code == status_retry_later)
        return "stopped in time, with a checkpoint if it is a native job: started again later it goes on";
    if (status.code == 126)
        return "a program was found but could not be executed: chmod +x, #! line, right CPU?";
    if (status.code == 127)
        return "a program, the interpreter of its #! line, or a shared library was not found";
    const auto by_signal = meaning_of_signal(status.code - first_of_signals);
    if (status.code <= first_of_signals || !by_signal) return std::nullopt;
    return fmt::format("how a shell tells that its command was ended by {}: {}",
                       signal_name(status.code - first_of_signals), *by_signal);
}

}  // namespace dtrain::launch
