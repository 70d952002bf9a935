// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/progress_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <stop_token>
#include <thread>

#include "base/signal_free_thread.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/operation_queue.hpp"

namespace dtrain::comm {
namespace {

// Rarely enough to leave the processor to the computation; sockets buffer what arrives meanwhile.
constexpr std::chrono::microseconds poll_interval{100};

class ProgressThread {
  public:
    Turn turn() { return expected_ ? Turn(mutex_) : Turn(mutex_, std::defer_lock); }

    void expect() {
        if (expected_) return;
        int level = MPI_THREAD_SINGLE;
        check(MPI_Query_thread(&level), "MPI_Query_thread");
        expected_ = level == MPI_THREAD_MULTIPLE;
    }
    bool is_expected() const { return expected_; }

    void ask() {
        if (!expected_) return;
        if (!thread_.joinable())
            thread_ = signal_free_thread<std::jthread>([this](const std::stop_token& stop) { help(stop); });
        if (asked_) return;
        asked_ = true;
        woken_.notify_one();
    }

    void end() { thread_ = {}; }

  private:
    void help(const std::stop_token& stop) {
        Turn turn(mutex_);
        while (woken_.wait(turn, stop, [this] { return asked_; }) && !stop.stop_requested()) {
            asked_ = OperationQueue::let_all_go_on();
            turn.unlock();
            std::this_thread::sleep_for(poll_interval);
            turn.lock();
        }
    }

    std::recursive_mutex mutex_;
    std::condition_variable_any woken_;
    bool expected_ = false;
    bool asked_ = false;
    std::jthread thread_;  // ends before the members that it uses
};

ProgressThread& progress_thread() {
    static ProgressThread only;
    return only;
}

}  // namespace

Turn take_turn() {
    return progress_thread().turn();
}

void expect_help() {
    progress_thread().expect();
}

bool has_help() {
    return progress_thread().is_expected();
}

void ask_for_help() {
    progress_thread().ask();
}

void end_help() {
    progress_thread().end();
}

}  // namespace dtrain::comm
