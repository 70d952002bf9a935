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

/// Threads that divide work into pieces with the thread that calls them. They sleep when there is none.
/// Signals are delivered to none of them, and what they are to do must not call MPI.
class WorkTeam {
  public:
    /// @param threads 1 or more, the caller's included: a team of one makes none
    explicit WorkTeam(int threads);
    ~WorkTeam();
    WorkTeam(const WorkTeam&) = delete;
    WorkTeam& operator=(const WorkTeam&) = delete;

    int threads() const { return static_cast<int>(helpers_.size()) + 1; }

    /// Calls function(piece) for 0 to pieces - 1, each once, in any order and on any of the threads; returns
    /// when all of them have ended. Not for two callers at once, and not for a function that it runs.
    /// @throws what the first of the pieces threw, in their order; the others have been done all the same
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
    Work work_;                             // of this round
    std::size_t pieces_ = 0;                // 0: nobody may begin to help any more
    bool ends_ = false;                     // the team
    std::atomic<std::uint64_t> round_ = 0;  // written under the mutex, as the next one
    std::atomic<int> helping_ = 0;
    std::atomic<std::size_t> next_ = 0;  // piece

    // Of the first piece that failed; under the mutex.
    std::exception_ptr failure_;
    std::size_t failed_ = 0;

    std::vector<std::jthread> helpers_;
};

}  // namespace dtrain
