// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "programs.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace dtrain::worker {
namespace {

constexpr int limit_ms = 30'000;

}  // namespace

GuardedProgram shell(const std::string& script, FileDescriptor output, std::chrono::milliseconds grace) {
    return {.executable = "/bin/sh",
            .argv = {"sh", "-c", script},
            .environment = {{"PATH", "/usr/bin:/bin"}},
            .output = std::move(output),
            .grace = grace};
}

bool wait_readable(int fd) {
    pollfd source{fd, POLLIN, 0};
    return ::poll(&source, 1, limit_ms) == 1;
}

std::string read_line(int fd) {
    std::string line;
    char letter = 0;
    while (wait_readable(fd) && ::read(fd, &letter, 1) == 1 && letter != '\n') line += letter;
    return line;
}

std::string read_to_end(int fd) {
    std::string all;
    std::array<char, 4096> piece;
    while (wait_readable(fd)) {
        const auto got = ::read(fd, piece.data(), piece.size());
        if (got <= 0) return all;
        all.append(piece.data(), static_cast<std::size_t>(got));
    }
    return all + "(timed out)";
}

bool is_gone(pid_t pid) {
    return ::kill(pid, 0) != 0 && errno == ESRCH;
}

int in_child(const std::function<int()>& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
    return ExitStatus::of_wait(status).shell_status();
}

FileDescriptor open_log(const std::filesystem::path& path) {
    return FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
}

}  // namespace dtrain::worker
