// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// healthy.py in C++: what a rank does for a while as the others wait for it, and a hang it is not.
#pragma once

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace healthy {

using Clock = std::chrono::steady_clock;

inline Clock::time_point end_of_phase() {
    const char* const seconds = std::getenv("PHASE_SECONDS");
    const std::chrono::duration<double> lasts(seconds != nullptr ? std::atof(seconds) : 2);
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(lasts);
}

inline void evaluate() {
    const auto end = end_of_phase();
    for (volatile unsigned number = 1; Clock::now() < end;) number = number * 3;
}

/// As on a slow disk.
inline void save_checkpoint() {
    const auto end = end_of_phase();
    const int file = ::open("checkpoint", O_CREAT | O_WRONLY, 0600);
    const std::string piece(1 << 16, '\0');
    while (Clock::now() < end && ::write(file, piece.data(), piece.size()) > 0) {
        ::fsync(file);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    ::close(file);
}

inline void next_batch() {
    std::this_thread::sleep_until(end_of_phase());
}

/// Another process computes.
inline void compiler() {
    const pid_t pid = ::fork();
    if (pid == 0) {
        evaluate();
        ::_exit(0);
    }
    ::waitpid(pid, nullptr, 0);
}

struct Phase {
    int rank;
    std::function<void()> run;
};
inline std::vector<Phase> phases() {
    return {{0, evaluate}, {0, save_checkpoint}, {1, next_batch}, {2, compiler}};
}

}  // namespace healthy
