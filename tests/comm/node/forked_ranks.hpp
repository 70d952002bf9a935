// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <dtrain/error.hpp>
#include <dtrain/node_communicator.hpp>

#include "base/files.hpp"

namespace dtrain::tests {

/// Processes, forked from this one, which are ranks of one node without MPI.
class ForkedRanks {
  public:
    /// What a rank does; what it returns or throws can be read by output(). It ends without destructors.
    using Action = std::function<std::string(const NodeRanks&)>;

    ForkedRanks(int size, const Action& action,
                std::chrono::duration<double> timeout = std::chrono::minutes(1)) {
        const NodeRanks all{.name = name_, .size = size, .timeout = timeout};
        for (int rank = 0; rank < size; ++rank) start(all, rank, action);
    }
    ForkedRanks(const ForkedRanks&) = delete;
    ForkedRanks& operator=(const ForkedRanks&) = delete;
    ~ForkedRanks() {
        for (const auto& rank : ranks_) {
            ::kill(rank.pid, SIGKILL);
            ::waitpid(rank.pid, nullptr, 0);
        }
    }

    const std::string& name() const { return name_; }
    pid_t pid(int rank) const { return ranks_[static_cast<std::size_t>(rank)].pid; }

    /// Ends a rank, whose parent does not wait for it yet: it is a zombie.
    void kill(int rank) const { ::kill(pid(rank), SIGKILL); }

    /// Waits until the rank says this, on a line of its own.
    void wait_for_line(int rank, const std::string& line) const {
        std::string text;
        for (char c = 0; ::read(fd(rank), &c, 1) == 1;) {
            if (c != '\n') {
                text += c;
            } else if (text == line) {
                return;
            } else {
                text.clear();
            }
        }
    }

    /// All that the rank says from now to its end.
    std::string output(int rank) const {
        std::string text;
        for (char c = 0; ::read(fd(rank), &c, 1) == 1;) text += c;
        return text;
    }

    /// In a rank.
    static void write_line(const std::string& line) { (void)write_all(output_fd, line + "\n"); }

  private:
    struct Rank {
        pid_t pid = 0;
        FileDescriptor output;
    };

    int fd(int rank) const { return ranks_[static_cast<std::size_t>(rank)].output.get(); }

    void start(NodeRanks all, int rank, const Action& action) {
        auto pipe = Pipe::open();
        const auto pid = ::fork();
        if (pid == 0) {
            all.rank = rank;
            output_fd = pipe.write_end.get();
            ::_exit(run(all, action));
        }
        ranks_.push_back({pid, std::move(pipe.read_end)});
    }

    static int run(const NodeRanks& ranks, const Action& action) {
        try {
            (void)write_all(output_fd, action(ranks));
            return 0;
        } catch (const std::exception& error) {
            (void)write_all(output_fd, error.what());
            return 1;
        }
    }

    static inline int output_fd = -1;
    std::string name_ = node_communicator_name();
    std::vector<Rank> ranks_;
};

}  // namespace dtrain::tests
