// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace dtrain {

/// Threads that share work with the calling thread, in pieces. They sleep while there is none. No signals are
/// delivered to them, and their work must not call MPI.
class WorkTeam {
  public:
    /// @param threads at least 1, including the caller: a team of one creates no threads
    explicit WorkTeam(int threads);
    ~WorkTeam();
    WorkTeam(const WorkTeam&) = delete;
    WorkTeam& operator=(const WorkTeam&) = delete;

    int threads() const { return static_cast<int>(helpers_.size()) + 1; }

    /// Calls function(piece) for 0 to pieces - 1, each once, in any order and on any of the threads; returns
    /// when all of them have ended. Must not be called by two callers at once, nor by a function that it
    /// runs.
    /// @throws the exception of the lowest piece that threw; all other pieces have run nevertheless
    template <class Function>
    void run(std::size_t pieces, const Function& function) {
        run(pieces, {&function, [](const void* content, std::size_t piece) {
                         (*static_cast<const Function*>(content))(piece);
                     }});
    }

  private:
    struct Work {
        const void* content = nullptr;
        void (*call)(const void* content, std::size_t piece) = nullptr;
    };

    void run(std::size_t pieces, Work work);
    void help();
    void take_pieces(std::size_t pieces, Work work);
    void wait_for_helpers();

    std::mutex mutex_;
    std::condition_variable has_work_;
    std::condition_variable has_ended_;
    Work work_;                             // of the current round
    std::size_t pieces_ = 0;                // 0: no helper may start any more
    bool ends_ = false;                     // the team ends
    std::atomic<std::uint64_t> round_ = 0;  // written under the mutex, as is the next one
    std::atomic<int> helping_ = 0;
    std::atomic<std::size_t> next_ = 0;  // next piece

    // First failed piece; guarded by the mutex.
    std::exception_ptr failure_;
    std::size_t failed_ = 0;

    std::vector<std::jthread> helpers_;
};

}  // namespace dtrain
