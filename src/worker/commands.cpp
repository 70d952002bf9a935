// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/commands.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>

namespace dtrain::worker {
namespace {

using cluster::Command;
using std::chrono::milliseconds;

constexpr milliseconds max_poll{5000};

std::vector<int> watched_signals(Commands::Source source) {
    auto watched = stop_signals_and({SIGUSR1, SIGUSR2, SIGALRM});
    if (source == Commands::Source::signals_in_step) watched.push_back(SIGURG);
    if (source == Commands::Source::signals_of_launcher) watched.push_back(SIGABRT);
    return watched;
}

bool is_slurmstepd(pid_t pid) {
    return read_file(fmt::format("/proc/{}/comm", pid)) == "slurmstepd\n";
}

}  // namespace

void hold_signals(Commands::Source source) {
    dtrain::hold_signals(watched_signals(source));
}

Commands::Commands(Source source, milliseconds timeout)
    : signals_(watched_signals(source)),
      lines_(source == Source::signals_and_stdin ? STDIN_FILENO : -1),
      timeout_(timeout) {}

std::array<pollfd, 2> Commands::sources() const {
    return {{{signals_.fd(), POLLIN, 0}, {lines_, POLLIN, 0}}};
}

bool Commands::wait(std::chrono::milliseconds limit) const {
    auto polled = sources();
    return ::poll(polled.data(), polled.size(), static_cast<int>(limit.count())) > 0;
}

std::vector<Command> Commands::take() {
    std::vector<Command> commands;
    take_signals(commands);
    take_lines(commands);
    note_silence(commands);
    return commands;
}

void Commands::take_signals(std::vector<Command>& commands) {
    while (const auto taken = signals_.take()) {
        const int signal = taken->number;
        if (signal == SIGUSR1 || signal == SIGUSR2) {
            if (!is_slurmstepd(taken->sender))
                commands.push_back({.kind = Command::Kind::pass_on, .signal = signal});
        } else if (signal == SIGURG)
            commands.push_back({.kind = Command::Kind::give_way});
        else if (signal == SIGABRT && taken->sender == ::getppid())
            commands.push_back({.kind = Command::Kind::show_stacks});
        else if (signal == SIGALRM)
            commands.push_back(
                {.kind = std::exchange(alarmed_, true) ? Command::Kind::leave : Command::Kind::stop});
        else
            commands.push_back({.kind = Command::Kind::end, .signal = signal});
    }
}

void Commands::take_lines(std::vector<Command>& commands) {
    pollfd readable{lines_, POLLIN, 0};
    if (lines_ < 0 || ::poll(&readable, 1, 0) <= 0) return;
    std::array<char, PIPE_BUF> buffer;
    const auto got = ::read(lines_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return give_up_lines(commands);
    silence_ = milliseconds{0};
    unfinished_line_.append(buffer.data(), static_cast<std::size_t>(got));
    for (auto end = unfinished_line_.find('\n'); end != std::string::npos;
         end = unfinished_line_.find('\n')) {
        if (const auto command = cluster::parse_command(std::string_view(unfinished_line_).substr(0, end)))
            commands.push_back(*command);
        unfinished_line_.erase(0, end + 1);
    }
}

/// Time in which this process was suspended (Slurm suspends whole jobs) does not count as silence.
void Commands::note_silence(std::vector<Command>& commands) {
    const auto now = std::chrono::steady_clock::now();
    const auto passed = std::chrono::ceil<milliseconds>(now - std::exchange(last_poll_, now));
    if (lines_ < 0) return;
    silence_ += std::min(passed, max_poll);
    if (silence_ >= timeout_) give_up_lines(commands);
}

void Commands::give_up_lines(std::vector<Command>& commands) {
    lines_ = -1;
    commands.push_back({.kind = Command::Kind::end, .signal = SIGTERM});
}

int Commands::ms_to_next_poll() const {
    return lines_ < 0 ? -1 : static_cast<int>(std::min(max_poll, timeout_).count());
}

}  // namespace dtrain::worker
