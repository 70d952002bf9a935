// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what stand-ins of programs with torch answer on their sockets.
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/process_tree.hpp"
#include "base/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "worker/torch_records.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::string answer_with(const std::string& stacks) {
    return R"({"waiting": null, "dumps": [], "stacks": ")" + stacks + "\"}";
}

/// Answers whoever connects first.
class StandIn {
  public:
    StandIn(const std::filesystem::path& folder, pid_t pid, std::function<void(int connection)> answer)
        : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const auto path = (folder / (std::to_string(pid) + "-" + std::to_string(pid) + ".torch")).string();
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
        const auto* const name = reinterpret_cast<const sockaddr*>(&address);
        EXPECT_EQ(::bind(listener_.get(), name, sizeof address), 0);
        EXPECT_EQ(::listen(listener_.get(), 4), 0);
        thread_ = std::jthread([this, answer = std::move(answer)] {
            const FileDescriptor connection(::accept(listener_.get(), nullptr, nullptr));
            if (connection.valid()) answer(connection.get());
        });
    }
    StandIn(const StandIn&) = delete;
    StandIn& operator=(const StandIn&) = delete;
    ~StandIn() { ::shutdown(listener_.get(), SHUT_RDWR); }

  private:
    FileDescriptor listener_;
    std::jthread thread_;
};

class TorchRecords : public testing::Test {
  protected:
    TorchRecords() { std::signal(SIGPIPE, SIG_IGN); }

    std::map<pid_t, std::string> stacks_of(const std::vector<pid_t>& processes,
                                           std::chrono::milliseconds limit = 20s) const {
        std::map<pid_t, std::string> stacks;
        for (const auto& [pid, record] : torch_records(folder_.path(), processes, limit))
            stacks[pid] = record.stacks;
        return stacks;
    }

    tests::TemporaryFolder folder_;
};

// Numbers that no process has.
constexpr pid_t first = 0x40000000;
constexpr pid_t second = first + 1;
constexpr pid_t third = first + 2;

TEST_F(TorchRecords, AreThoseOfAllThatAnswer) {
    const StandIn one(folder_.path(), first,
                      [](int connection) { write_all(connection, answer_with("one")); });
    const StandIn in_pieces(folder_.path(), second, [](int connection) {
        for (const char letter : answer_with("two")) {
            write_all(connection, {&letter, 1});
            std::this_thread::sleep_for(1ms);
        }
    });
    EXPECT_THAT(stacks_of({second, third, first}), ElementsAre(Pair(first, "one"), Pair(second, "two")));
}

TEST_F(TorchRecords, OfWhomIsLateOrDoesNotEndThereIsNothing) {
    const StandIn good(folder_.path(), first,
                       [](int connection) { write_all(connection, answer_with("one")); });
    const StandIn silent(folder_.path(), second, [](int connection) {
        char letter = 0;
        while (::read(connection, &letter, 1) > 0) {
        }
    });
    const StandIn without_end(folder_.path(), third, [](int connection) {
        write_all(connection, answer_with("three"));
        char letter = 0;
        while (::read(connection, &letter, 1) > 0) {
        }
    });
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(stacks_of({first, second, third}, 500ms), ElementsAre(Pair(first, "one")));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(TorchRecords, OfWhoAnswersTooMuchOrSomethingElseThereIsNothing) {
    const StandIn damaged(folder_.path(), first,
                          [](int connection) { write_all(connection, "{\"stacks\": "); });
    const StandIn huge(folder_.path(), second, [](int connection) {
        while (write_all(connection, std::string(1 << 20, ' '))) {
        }
    });
    const StandIn empty(folder_.path(), third, [](int) {});
    EXPECT_THAT(stacks_of({first, second, third}), IsEmpty());
}

TEST_F(TorchRecords, AProcessThatASignalHasStoppedIsNotAsked) {
    const Subprocess stopped({.argv = {"sh", "-c", "kill -STOP $$"}});
    for (int tries = 0; tries < 3000; ++tries) {
        const auto stat = stat_of(stopped.pid());
        if (stat && stat->state == 'T') break;
        std::this_thread::sleep_for(10ms);
    }
    const StandIn answers(folder_.path(), stopped.pid(),
                          [](int connection) { write_all(connection, answer_with("one")); });
    EXPECT_THAT(stacks_of({stopped.pid()}), IsEmpty());
}

TEST_F(TorchRecords, AProcessThatADebuggerHoldsIsNotAsked) {
    Subprocess held({.argv = {"/bin/sleep", "100"}});
    if (::ptrace(PTRACE_SEIZE, held.pid(), nullptr, nullptr) != 0)
        GTEST_SKIP() << "here no process may hold another one";
    ::ptrace(PTRACE_INTERRUPT, held.pid(), nullptr, nullptr);
    for (int tries = 0; tries < 3000 && !is_in_state(held.pid(), 't'); ++tries)
        std::this_thread::sleep_for(10ms);
    const StandIn answers(folder_.path(), held.pid(),
                          [](int connection) { write_all(connection, answer_with("one")); });
    EXPECT_THAT(stacks_of({held.pid()}), IsEmpty());
}

/// On one processor, which it shares with all others that call this.
void compute_until(const std::stop_token& stop) {
    cpu_set_t processors;
    ::sched_getaffinity(0, sizeof processors, &processors);
    std::size_t one = 0;
    while (!CPU_ISSET(one, &processors)) ++one;
    CPU_ZERO(&processors);
    CPU_SET(one, &processors);
    ::sched_setaffinity(0, sizeof processors, &processors);
    while (!stop.stop_requested()) {
    }
}

TEST_F(TorchRecords, TheTimesOfAThreadThatAnswersAreKnown) {
    const auto times = [&] { return times_of_torch_records(folder_.path()); };
    EXPECT_EQ(times().on_processor, 0ns);
    std::jthread other(compute_until);
    std::atomic<pid_t> thread = 0;
    std::jthread answers([&](const std::stop_token& stop) {
        thread = ::gettid();
        compute_until(stop);
    });
    while (thread == 0) std::this_thread::yield();
    const auto name = std::to_string(::getpid()) + "-" + std::to_string(thread) + ".torch";
    make_new_file(folder_ / name);
    for (int tries = 0; tries < 3000 && (times().on_processor < 50ms || times().ready < 20ms); ++tries)
        std::this_thread::sleep_for(10ms);
    EXPECT_GE(times().on_processor, 50ms);
    EXPECT_GE(times().ready, 20ms) << "the other one computes there, too";
    answers = {};
    // The kernel wakes who waits for a thread before its entry in /proc is gone.
    for (int tries = 0; tries < 3000 && times().on_processor > 0ns; ++tries) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(times().on_processor, 0ns) << "it has ended";
    EXPECT_EQ(times().ready, 0ns);
}

TEST_F(TorchRecords, WithoutAFolderNobodyIsAsked) {
    EXPECT_EQ(times_of_torch_records("").on_processor, 0ns);
    EXPECT_THAT(torch_records("", {::getpid()}, 20s), IsEmpty());
    EXPECT_THAT(torch_records(std::string(200, 'x'), {::getpid()}, 20s), IsEmpty())
        << "too long for a socket";
}

}  // namespace
}  // namespace dtrain::worker
