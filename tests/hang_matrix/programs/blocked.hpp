// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// blocked.py in C++: ways in which a process stops that have nothing to do with communication.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace blocked {

/// Tells the harness which process hangs from now on.
inline void begin() {
    const auto name = "began." + std::to_string(::getpid());
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    std::ofstream(name + ".new") << std::fixed << std::chrono::duration<double>(now).count();
    std::rename((name + ".new").c_str(), name.c_str());
}

inline void sleeps() {
    std::this_thread::sleep_for(std::chrono::seconds(1000));
}

inline void computes() {
    for (volatile unsigned number = 1;;) number = number * 3;
}

inline void is_stopped() {
    ::raise(SIGSTOP);
}

/// The harness stops it from outside.
inline void works_until_held() {
    for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

inline void lock() {
    static std::mutex first, second;
    static std::atomic<bool> has_first = false;
    second.lock();
    std::thread([] {
        first.lock();
        has_first = true;
        second.lock();
    }).detach();
    while (!has_first) std::this_thread::yield();
    first.lock();
}

inline int end_of_silent_pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    return ends[0];
}

inline void pipe() {
    char got = 0;
    while (::read(end_of_silent_pipe(), &got, 1) < 0) {
    }
}

inline void server() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const int silent = ::socket(AF_INET, SOCK_STREAM, 0), connection = ::socket(AF_INET, SOCK_STREAM, 0);
    char got = 0;
    if (::bind(silent, any, size) != 0 || ::listen(silent, 1) != 0 ||
        ::getsockname(silent, any, &size) != 0 || ::connect(connection, any, size) != 0 ||
        ::recv(connection, &got, 1, 0) != 0)
        std::abort();
}

inline void file_lock() {
    if (::flock(::open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX) != 0) std::abort();
}

inline void child() {
    if (std::system("exec sleep 1000") != 0) std::abort();
}

/// One that does not come to an end.
inline void compiler() {
    if (std::system("while :; do :; done") != 0) std::abort();
}

/// A forked process has the lock, and nobody who would release it.
inline void fork_with_lock() {
    static std::mutex own;
    own.lock();
    const auto pid = ::fork();
    if (pid == 0) own.lock();
    ::waitpid(pid, nullptr, 0);
}

/// Its child does not come to exec: the caller waits in the kernel.
inline void vfork() {
    if (::vfork() == 0) {
        ::open("fifo", O_WRONLY | O_CLOEXEC);
        ::_exit(1);
    }
}

inline void evaluate() {
    sleeps();
}

/// Into a pipe that nobody reads.
inline void save_checkpoint() {
    std::ofstream("fifo") << "weights";
}

inline void write_to_frozen_disk() {
    const int file = ::open("disk/checkpoint", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (std::system("fsfreeze -f disk") != 0 || ::write(file, "weights", 7) != 7) std::abort();
}

inline void handler() {
    std::signal(SIGUSR1, [](int) { ::sleep(1000); });
    ::raise(SIGUSR1);
}

/// Of another thread, that never sets it.
inline void flag() {
    static std::atomic<bool> done = false;
    while (!done) std::this_thread::yield();
}

inline const std::map<std::string, void (*)()>& ways() {
    static const std::map<std::string, void (*)()> all{
        {"sleeps", sleeps},
        {"computes", computes},
        {"is_stopped", is_stopped},
        {"works_until_held", works_until_held},
        {"lock", lock},
        {"pipe", pipe},
        {"server", server},
        {"file_lock", file_lock},
        {"child", child},
        {"compiler", compiler},
        {"fork_with_lock", fork_with_lock},
        {"vfork", vfork},
        {"evaluate", evaluate},
        {"save_checkpoint", save_checkpoint},
        {"write_to_frozen_disk", write_to_frozen_disk},
        {"handler", handler},
        {"flag", flag},
    };
    return all;
}

}  // namespace blocked
