// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Both ends of a launcher's control socket, each with another that keeps to nothing: noise, damaged and cut
// lines, lines without an end, connections that say nothing, read nothing or are closed in the middle. 10,000
// clients and 1000 launchers, with DTRAIN_STRESS=1 ten times as many. Oracle: control_socket.hpp: no client
// makes the launcher wait or uses more than a bounded amount of it, and a right question beside them is
// answered; what asks a launcher ends within its limit and takes nothing for an answer that is none.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <list>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/jobs/control_client.hpp"
#include "launch/jobs/control_socket.hpp"
#include "launch/jobs/job_commands.hpp"
#include "launch/jobs/stack_answers.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "support/resources_in_use.hpp"
#include "support/temporary_folder.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

int clients() {
    return std::getenv("DTRAIN_STRESS") != nullptr ? 100'000 : 10'000;
}

tests::Corpus questions() {
    return {.examples = {"summary\n", "status\n", "stacks\n", "end\n"},
            .pieces = {"summary", "status", "stacks", "end", "\n", "\r\n", " ", std::string(1, '\0')}};
}

class HostileClients : public testing::Test {
  protected:
    HostileClients() {
        control_.describe({{.info = {.role = "", .number = 0, .host = "a", .log = "/log/workerlog.0"}}}, 2);
    }

    void serve() {
        pollfd readable{control_.fd(), POLLIN, 0};
        if (::poll(&readable, 1, 0) > 0) control_.serve(job_, false);
    }

    void expect_an_answer() {
        const auto socket = transport::connect_to_path(control_.path());
        ASSERT_EQ(::send(socket.get(), "status\n", 7, MSG_NOSIGNAL), 7);
        std::string answer;
        const auto give_up_at = Clock::now() + seconds(20);
        while (!answer.ends_with('\n') && Clock::now() < give_up_at) {
            serve();
            std::array<char, 4096> buffer{};
            const auto got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (got > 0) answer.append(buffer.data(), static_cast<std::size_t>(got));
            if (got == 0) break;
        }
        const auto view = parse_view(answer);
        ASSERT_TRUE(view) << answer;
        EXPECT_EQ(view->restarts, 2);
        ASSERT_EQ(view->ranks.size(), 1U);
        EXPECT_EQ(view->ranks.front().log, "/log/workerlog.0");
    }

    ControlSocket control_;
    const JobState job_{1};
};

TEST_F(HostileClients, WhateverTheySayOthersAreAnswered) {
    const auto pieces = questions();
    tests::Mutator mutator(pieces, 1);
    std::list<FileDescriptor> open;
    long memory = 0;
    for (int count = 0; count < clients(); ++count) {
        open.push_back(transport::connect_to_path(control_.path()));
        for (auto left = mutator.below(4); left > 0; --left) {
            const auto text = mutator.one_in(3) ? mutator.any_of(pieces.examples) : mutator.text();
            if (::send(open.back().get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
            serve();
        }
        if (open.size() > 100 || mutator.one_in(4))
            open.erase(std::next(open.begin(), static_cast<std::ptrdiff_t>(mutator.below(open.size()))));
        if (mutator.one_in(200)) expect_an_answer();
        if (count == clients() / 10) memory = tests::resident_memory();
        serve();
        ASSERT_LT(tests::open_descriptors(), 250U);  // 101 of them are this loop's
    }
    constexpr long allowed = 16L * 1024;
    EXPECT_LT(tests::resident_memory() - memory, allowed);
    control_.finish(0);
    expect_an_answer();
}

TEST_F(HostileClients, OneForWhichThereIsNoDescriptorIsRefusedAndCostsNoTime) {
    const auto client = transport::connect_to_path(control_.path());
    std::optional<tests::NoMoreDescriptors> none(std::in_place);
    pollfd readable{control_.fd(), POLLIN, 0};
    int wakings = 0;
    for (; ::poll(&readable, 1, 0) > 0 && wakings < 100; ++wakings) control_.serve(job_, false);
    char answer = 0;
    const auto received = ::recv(client.get(), &answer, 1, MSG_DONTWAIT);
    none.reset();
    EXPECT_LT(wakings, 10);
    EXPECT_EQ(received, 0);
    expect_an_answer();
}

/// The connection of a client that has asked.
FileDescriptor accept_a_question(const FileDescriptor& listener) {
    FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::array<char, 64> question{};
    [[maybe_unused]] const auto ignored = ::recv(socket.get(), question.data(), question.size(), 0);
    return socket;
}

/// A launcher in a thread that says `answer` to each that connects, and closes the connection.
class Launcher {
  public:
    explicit Launcher(std::string answer, bool endless = false)
        : answer_(std::move(answer)), endless_(endless), thread_([this] { run(); }) {}
    ~Launcher() {
        stop_ = true;
        thread_.join();
    }
    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

    JobRecord record() const {
        JobRecord out;
        out.job = "job";
        out.socket = path_;
        return out;
    }

  private:
    void run() {
        while (!stop_) {
            pollfd readable{listener_.get(), POLLIN, 0};
            if (::poll(&readable, 1, 1) <= 0) continue;
            const auto socket = accept_a_question(listener_);
            do {
                std::string_view left = answer_;
                while (!left.empty() && !stop_) {
                    const auto sent = ::send(socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
                    if (sent < 0) break;
                    left.remove_prefix(static_cast<std::size_t>(sent));
                }
                if (!left.empty()) break;
            } while (endless_ && !stop_);
        }
    }

    tests::TemporaryFolder folder_;
    std::string path_ = (folder_ / "control").string();
    FileDescriptor listener_ = transport::listen_at_path(path_);
    std::string answer_;
    bool endless_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

JobView a_view() {
    return {
        .state = "running",
        .restarts = 1,
        .up = 1,
        .ranks = {{.rank = 0, .role = "worker", .host = "a", .pid = 12, .state = "running", .log = "/l"}}};
}

TEST(HostileLauncher, OnlyAViewIsTakenForOne) {
    const tests::Corpus corpus{.examples = {to_json(a_view()) + "\n"},
                               .pieces = {"{", "}", "\"ranks\":", "[", "]", "\"state\"", ":", "\n", "1e999"}};
    const int count = clients() / 10;
    int views = 0;
    for (int seed = 0; seed < count; ++seed) {
        tests::Mutator mutator(corpus, static_cast<std::uint64_t>(seed));
        const auto answer = mutator.text();
        const Launcher launcher(answer);
        const auto begin = Clock::now();
        const auto view = ask_for_view(launcher.record(), "status");
        EXPECT_LT(Clock::now() - begin, seconds(20));
        const auto end = answer.find('\n');
        EXPECT_EQ(view, end == std::string::npos ? std::nullopt : parse_view(answer.substr(0, end)))
            << tests::as_literal(answer);
        views += view ? 1 : 0;
    }
    EXPECT_GT(views, 0);
    EXPECT_LT(views, count / 2);
}

TEST(HostileLauncher, ALineWithoutAnEndKeepsNobodyAndLittleMemory) {
    const auto memory = tests::resident_memory();
    const Launcher launcher(std::string(64UL * 1024, 'x'), true);
    ControlClient client(launcher.record(), "status");
    const auto begin = Clock::now();
    EXPECT_EQ(client.read_line(milliseconds(300)), std::nullopt);
    EXPECT_LT(Clock::now() - begin, seconds(20));
    while (!client.ended() && Clock::now() - begin < seconds(20)) client.read_line(milliseconds(300));
    EXPECT_TRUE(client.ended());
    constexpr long allowed = 64L * 1024;
    EXPECT_LT(tests::resident_memory() - memory, allowed);
}

TEST(HostileLauncher, OneThatAcceptsNobodyKeepsNobody) {
    const tests::TemporaryFolder folder;
    JobRecord record;
    record.socket = (folder / "control").string();
    const auto listener = transport::listen_at_path(record.socket);
    ASSERT_EQ(::listen(listener.get(), 0), 0);
    const auto waits = transport::connect_to_path(record.socket);  // nobody else may wait
    const auto begin = Clock::now();
    EXPECT_EQ(ask_for_view(record, "status"), std::nullopt);
    EXPECT_LT(Clock::now() - begin, seconds(20));
}

TEST(HostileLauncher, WhatAreNoStacksIsSaidInOneLine) {
    for (const std::string rubbish : {"no JSON\n", "{\"rank\": 0}\n", "{\"rank\": []}\n", "[[[[\n"}) {
        const tests::TemporaryFolder folder;
        JobRecord record;
        record.job = "job";
        record.socket = (folder / "control").string();
        const auto listener = transport::listen_at_path(record.socket);
        std::thread answers([&] {
            for (const auto& answer : {to_json(a_view()) + "\n", rubbish}) {
                pollfd readable{listener.get(), POLLIN, 0};
                ::poll(&readable, 1, 20'000);
                const auto socket = accept_a_question(listener);
                ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
            }
        });
        auto* const before = ::signal(SIGPIPE, SIG_DFL);
        const auto message = tests::message_of<Error>([&] { show_stacks(record, cluster::RankList()); });
        ::signal(SIGPIPE, before);
        answers.join();
        EXPECT_TRUE(tests::is_helpful(message, {"the launcher of job"})) << rubbish;
        EXPECT_THAT(message, testing::HasSubstr("no stacks"));
    }
}

TEST(StackAnswers, OfALauncherThatEndsMeanwhile) {
    const Launcher launcher(R"({"rank":0,"host":"a","file":"f","text":""})"
                            "\n");
    JobView view{.state = "running", .ranks = std::vector<RankView>(3)};
    for (int rank = 0; rank < 3; ++rank) {
        view.ranks[rank].rank = rank;
        view.ranks[rank].state = "running";
    }
    const auto answers = ask_for_stacks(launcher.record(), view);
    EXPECT_EQ(answers.of_ranks.size(), 1U);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(report_silent_ranks(view, answers, cluster::RankList::all()));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "dtrain-launch: 2 ranks did not tell where they are, as the launcher ended meanwhile: 1,2\n");
}

}  // namespace
}  // namespace dtrain::launch
