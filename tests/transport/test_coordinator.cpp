// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Real agents in threads of their own, over the loopback network, and a remote shell as mpirun would start
// it. Oracle: what each side is to learn of the other; ssh's and getopt's "--".
#include <atomic>
#include <future>
#include <numeric>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "keys.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "transport/agent.hpp"
#include "transport/connection.hpp"
#include "transport/coordinator.hpp"
#include "transport/remote_shell.hpp"
#include "transport/tcp.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class CoordinatorTest : public testing::Test {
  protected:
    CoordinatorTest() {
        auto listener = listen_at("127.0.0.1", 0);
        port_ = port_of(listener);
        coordinator_ = std::make_unique<Coordinator>(
            Coordinator::Options{.listener = std::move(listener),
                                 .key = key,
                                 .name = "coordinator",
                                 .admit = [](const JoinRequest& request) { return admit(request); },
                                 .arrived = {}});
        coordinator_->serve_remote_shells(remote_shells());
    }

    static Admission admit(const JoinRequest& request) {
        if (request.address == "unauthenticated") return Refused{"it is an unauthenticated"};
        if (request.address == "another job")
            return Refused{.reason = "this is another job", .of_another_job = true};
        return request.wanted_node.value_or(1);
    }

    std::string remote_shells() const { return (folder_ / "remote_shells").string(); }

    AgentOptions node(int number, const Key& own_key = key) const {
        return {.coordinator = "127.0.0.1",
                .port = port_,
                .key = own_key,
                .request = {.host_name = "here", .wanted_node = number},
                .environment = {},
                .timeout = seconds(20),
                .accepted = {},
                .write_final_line = {},
                .must_leave = {},
                .on_stop = {},
                .holder = {}};
    }

    /// Serves until that is so.
    template <class Condition>
    void serve_until(const Condition& condition) {
        const auto give_up_at = std::chrono::steady_clock::now() + seconds(20);
        bool is_so = false;
        while (!(is_so = condition()) && std::chrono::steady_clock::now() < give_up_at)
            coordinator_->reactor().wait(milliseconds(20));
        ASSERT_TRUE(is_so);
    }

    /// Serves until the agent has ended.
    template <class Result>
    void serve_to_the_end_of(std::future<Result>& agent) {
        serve_until([&] { return agent.wait_for(milliseconds(0)) == std::future_status::ready; });
    }

    tests::TemporaryFolder folder_;
    int port_ = 0;
    std::unique_ptr<Coordinator> coordinator_;
};

std::future<Followed> started(AgentOptions options) {
    return std::async(std::launch::async, [options = std::move(options)] { return follow(options); });
}

TEST_F(CoordinatorTest, TellsEachAgentItsPartAndTheEnd) {
    std::promise<Accepted> part;
    auto options = node(2);
    options.accepted = [&](const Accepted& accepted) { part.set_value(accepted); };
    auto agent = started(options);
    serve_until([&] { return coordinator_->is_connected(2); });
    EXPECT_FALSE(coordinator_->is_connected(1));
    EXPECT_EQ(coordinator_->join_request_of(2), options.request);
    EXPECT_EQ(coordinator_->peer_of(2), "127.0.0.1");
    const Accepted accepted{.node = 2, .nodes = 3, .first_rank = 8, .ranks = 4};
    coordinator_->send(2, accepted);
    coordinator_->end({.status = 7, .text = "rank 3 failed"});
    serve_to_the_end_of(agent);
    EXPECT_EQ(part.get_future().get(), accepted);
    const auto followed = agent.get();
    EXPECT_EQ(followed.status, 7);
    EXPECT_EQ(followed.text, "rank 3 failed");
    EXPECT_FALSE(followed.left);
}

TEST_F(CoordinatorTest, RefusesWithTheReason) {
    auto options = node(1);
    options.request.address = "unauthenticated";
    auto agent = started(options);
    serve_to_the_end_of(agent);
    EXPECT_THAT(tests::message_of([&] { agent.get(); }),
                HasSubstr("refuses this node: it is an unauthenticated"));
    EXPECT_EQ(coordinator_->take_refusal(), "here (127.0.0.1): it is an unauthenticated");
    EXPECT_EQ(coordinator_->take_refusal(), std::nullopt);
    EXPECT_FALSE(coordinator_->is_connected(1));
}

TEST_F(CoordinatorTest, AQuestionOfAnotherJobDisturbsNobody) {
    const auto options = [&] {
        auto out = node(1);
        out.request.address = "another job";
        return out;
    }();
    auto socket = connect_to("127.0.0.1", port_, seconds(5));
    Following asking(options, std::move(std::get<FileDescriptor>(socket)));
    serve_until([&] {
        asking.reactor().serve();
        return !asking.lost().empty();
    });
    EXPECT_EQ(asking.lost(), "this is another job");
    EXPECT_FALSE(asking.is_unauthenticated());
    EXPECT_EQ(coordinator_->take_refusal(), std::nullopt);
}

TEST_F(CoordinatorTest, ANodeIsThereOnlyOnce) {
    auto first = started(node(1));
    serve_until([&] { return coordinator_->is_connected(1); });
    auto second = started(node(1));
    serve_to_the_end_of(second);
    EXPECT_THAT(tests::message_of([&] { second.get(); }), HasSubstr("node 1 is there already"));
    EXPECT_EQ(coordinator_->take_refusal(), std::nullopt);
    coordinator_->send(1, Accepted{.node = 1, .nodes = 2});
    coordinator_->end({});
    EXPECT_EQ(first.get().status, 0);
}

TEST_F(CoordinatorTest, AnAgentWithAnotherKeyLearnsHowToCopyIt) {
    auto agent = started(node(1, other));
    serve_to_the_end_of(agent);
    EXPECT_THAT(tests::message_of([&] { agent.get(); }), HasSubstr("dtrain-launch key show"));
    EXPECT_FALSE(coordinator_->is_connected(1));
}

TEST_F(CoordinatorTest, AnAgentLeavesWhenItMust) {
    std::atomic<bool> must_leave = false;
    auto options = node(1);
    options.must_leave = [&] { return must_leave.load(); };
    auto agent = started(options);
    serve_until([&] { return coordinator_->is_connected(1); });
    coordinator_->begin_run({}, {"a", "b"}, {"a", "b"});
    coordinator_->send(1, Accepted{.node = 1, .nodes = 2});
    must_leave = true;
    serve_to_the_end_of(agent);
    EXPECT_TRUE(agent.get().left);
    serve_until([&] { return coordinator_->lost().contains(1); });
    EXPECT_FALSE(coordinator_->is_connected(1));
}

TEST_F(CoordinatorTest, AnAgentNeedsNoCoordinatorToLeave) {
    coordinator_.reset();
    auto options = node(1);
    options.must_leave = [] { return true; };
    EXPECT_TRUE(started(options).get().left);
}

TEST_F(CoordinatorTest, AnAgentThatLosesItsCoordinatorSaysSo) {
    auto agent = started(node(1));
    serve_until([&] { return coordinator_->is_connected(1); });
    std::promise<void> accepted;
    coordinator_->send(1, Accepted{.node = 1, .nodes = 2});
    coordinator_->send(1, Heartbeat{});
    coordinator_.reset();
    const auto followed = agent.get();
    EXPECT_EQ(followed.status, 1);
    EXPECT_THAT(followed.text, HasSubstr("lost node 0 (127.0.0.1)"));
}

TEST_F(CoordinatorTest, NodesGetOtherNumbers) {
    auto first = started(node(1));
    serve_until([&] { return coordinator_->is_connected(1); });
    coordinator_->renumber({0, 2});
    EXPECT_FALSE(coordinator_->is_connected(1));
    EXPECT_EQ(coordinator_->join_request_of(2).wanted_node, 1);
    coordinator_->send(2, Accepted{.node = 2, .nodes = 3});
    coordinator_->end({});
    EXPECT_EQ(first.get().status, 0);
}

/// What mpirun's remote-shell remote shell hears from the coordinator.
class RemoteShell {
  public:
    explicit RemoteShell(const std::string& path) : socket_(connect_to_path(path)) {}

    void ask(const std::string& host, const std::string& command) const {
        write_all(socket_.get(), framed(encode(RunOn{.host = host, .command = command})));
    }
    std::optional<Message> receive() {
        if (const auto frame = frames_.next()) return decode(*frame);
        pollfd readable{socket_.get(), POLLIN, 0};
        if (::poll(&readable, 1, 0) > 0) {
            std::array<char, 4096> buffer{};
            const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (got > 0) frames_.take({buffer.data(), static_cast<std::size_t>(got)});
        }
        const auto frame = frames_.next();
        return frame ? std::optional(decode(*frame)) : std::nullopt;
    }

  private:
    FileDescriptor socket_;
    FrameReader frames_{max_message};
};

TEST_F(CoordinatorTest, AnAgentIsAcceptedOnceWhereTheJobIsStartedAgain) {
    std::atomic<int> welcomes = 0;
    auto options = node(1);
    options.accepted = [&](const Accepted&) { ++welcomes; };
    auto agent = started(options);
    serve_until([&] { return coordinator_->is_connected(1); });
    for (int start = 0; start < 2; ++start) coordinator_->send(1, Accepted{.node = 1, .nodes = 2});
    coordinator_->end({});
    EXPECT_EQ(agent.get().status, 0);
    EXPECT_EQ(welcomes, 1);
}

TEST_F(CoordinatorTest, ARemoteShellOfANodeWithoutAnAgentUsesSsh) {
    coordinator_->begin_run({}, {"127.0.0.1", "127.1.0.2"}, {"fd00::1", "fd00::2"});
    RemoteShell remote_shell(remote_shells());
    remote_shell.ask("127.1.0.2", "orted");
    std::optional<Message> received;
    serve_until([&] { return (received = remote_shell.receive()).has_value(); });
    EXPECT_EQ(*received, Message(UseSsh{"fd00::2"}));
    RemoteShell unknown(remote_shells());
    unknown.ask("elsewhere", "orted");
    serve_until([&] { return (received = unknown.receive()).has_value(); });
    EXPECT_EQ(*received, Message(UseSsh{""}));
}

TEST_F(CoordinatorTest, ARemoteShellTakesNoHostForAnOptionOfSsh) {
    coordinator_->begin_run({}, {"a", "n2"}, {"a", "-oProxyCommand=sh"});
    const auto ssh = folder_ / "ssh";
    tests::write_bytes(ssh,
                       "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + (folder_ / "arguments").string() + "'\n");
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
    const Environment environment{{"PATH", folder_.path().string() + ":/usr/bin:/bin"},
                                  {"DTRAIN_AGENT_SOCKET", remote_shells()}};
    for (const bool by_mpirun : {false, true}) {
        std::vector<std::string> arguments{"-o", "BatchMode=yes", "n2", "orted", "-mca"};
        if (by_mpirun) arguments.insert(arguments.begin() + 2, "--");
        const auto pid = ::fork();
        if (pid == 0) ::_exit(run_remote_shell(arguments, environment));
        serve_until([&] { return ::waitpid(pid, nullptr, WNOHANG) == pid; });
        EXPECT_EQ(tests::bytes_of(folder_ / "arguments"),
                  "-x\n-o\nBatchMode=yes\n-o\nBatchMode=yes\n--\n-oProxyCommand=sh\norted\n-mca\n");
    }
}

TEST(RemoteShell, HasASchedulersRemoteShellStartAShellForTheCommand) {
    const tests::TemporaryFolder folder;
    const auto shell = (folder / "tmrsh").string();
    tests::write_bytes(shell, "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.words\"\n");
    std::filesystem::permissions(shell, std::filesystem::perms::owner_all);
    const auto pid = ::fork();
    if (pid == 0)
        ::_exit(run_remote_shell(
            {"--by", shell, "node2", "PATH=/opt/bin:$PATH;", "orted", "-mca", "ess", "\"env\""},
            Environment::of_this_process()));
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(tests::bytes_of(shell + ".words"),
              "node2\n/bin/sh\n-c\nPATH=/opt/bin:$PATH; orted -mca ess \"env\"\n");
}

/// What the remote shell hears until its daemon has ended.
std::string printed_until_the_end(RemoteShell& remote_shell, Reactor& reactor) {
    std::string text;
    const auto give_up_at = std::chrono::steady_clock::now() + seconds(20);
    while (std::chrono::steady_clock::now() < give_up_at) {
        reactor.wait(milliseconds(0));
        const auto received = remote_shell.receive();
        if (!received) continue;
        if (std::holds_alternative<DaemonEnded>(*received)) return text;
        text += std::get<DaemonOutput>(*received).text;
    }
    ADD_FAILURE() << "no end after " << text.size() << " bytes";
    return text;
}

class RemoteShellsTest : public testing::Test {
  protected:
    void ask() {
        shell_.ask("b", "orted");
        for (int count = 0; !shell_number_ && count < 1000; ++count) reactor_.wait(milliseconds(20));
        ASSERT_TRUE(shell_number_);
    }
    /// @returns all that was said
    std::string send_output(int lines) {
        std::string all;
        for (int line = 0; line < lines; ++line) {
            all += std::string(8 * 1024, static_cast<char>('a' + line % 26));
            remote_shells_.send(*shell_number_, DaemonOutput{.text = all.substr(all.size() - 8 * 1024)});
        }
        remote_shells_.send(*shell_number_, DaemonEnded{});
        return all;
    }

    tests::TemporaryFolder folder_;
    Reactor reactor_;
    std::optional<int> shell_number_;
    RemoteShells remote_shells_{
        reactor_,
        (folder_ / "remote_shells").string(),
        {.asked = [this](int remote_shell, const RunOn&) { shell_number_ = remote_shell; },
         .gone = [this](int) { shell_number_.reset(); },
         .make_room = [] { return false; }}};
    RemoteShell shell_{(folder_ / "remote_shells").string()};
};

TEST_F(RemoteShellsTest, WhatARemoteShellDoesNotTakeAtOnceWaitsForIt) {
    ask();
    const auto all = send_output(300);  // more than a socket holds
    EXPECT_EQ(printed_until_the_end(shell_, reactor_), all);
}

TEST_F(RemoteShellsTest, OfMuchOutputOfADaemonTheEndIsLeftOut) {
    ask();
    const auto all = send_output(2000);
    const auto printed = printed_until_the_end(shell_, reactor_);
    const std::string remark = "[some output is left out]\n";
    ASSERT_THAT(printed, testing::EndsWith(remark));
    EXPECT_EQ(all.substr(0, printed.size() - remark.size()),
              printed.substr(0, printed.size() - remark.size()));
    EXPECT_LT(printed.size(), all.size() / 2);
}

TEST_F(RemoteShellsTest, OneThatIsGoneIsToldNothing) {
    ask();
    shell_ = RemoteShell((folder_ / "remote_shells").string());
    const int gone = *shell_number_;
    send_output(300);
    for (int count = 0; shell_number_ && count < 1000; ++count) reactor_.wait(milliseconds(20));
    EXPECT_FALSE(shell_number_);
    remote_shells_.send(gone, DaemonEnded{});
}

TEST_F(CoordinatorTest, ACommandThatIsNoDaemonIsNotRun) {
    coordinator_->begin_run({}, {"a", "b"}, {"a", "b"});
    auto agent = started(node(1));
    serve_until([&] { return coordinator_->is_connected(1); });
    coordinator_->send(1, Accepted{.node = 1, .nodes = 2});
    RemoteShell remote_shell(remote_shells());
    const auto proof = folder_ / "was-run";
    remote_shell.ask("b", "touch " + proof.string());
    std::optional<Message> received;
    serve_until([&] { return (received = remote_shell.receive()).has_value(); });
    const auto* ended = std::get_if<DaemonEnded>(&*received);
    ASSERT_NE(ended, nullptr);
    EXPECT_NE(ended->status, 0);
    EXPECT_THAT(ended->reason, HasSubstr("touch"));
    EXPECT_FALSE(std::filesystem::exists(proof));
    coordinator_->end({});
    EXPECT_EQ(agent.get().status, 0);
}

/// An agent that runs nothing, and says what a test wants.
class RawAgent {
  public:
    explicit RawAgent(int port)
        : connection_(std::get<FileDescriptor>(connect_to("127.0.0.1", port, seconds(5))),
                      Channel::Side::agent, key) {
        make_nonblocking(connection_.fd());
    }

    /// Takes what has arrived.
    void turn() {
        connection_.write();
        while (connection_.has_input() && connection_.read()) {
        }
        while (const auto message = connection_.next()) {
            if (const auto* wish = std::get_if<RunDaemon>(&*message)) run_ = wish->run;
            if (const auto* final = std::get_if<FinalLine>(&*message)) lines_.push_back(final->line);
        }
    }
    bool open() const { return connection_.open(); }
    /// The run whose daemon it was asked for.
    const std::optional<int>& run() const { return run_; }
    const std::vector<std::string>& lines() const { return lines_; }
    void send(const Message& message) {
        connection_.send(message);
        connection_.write();
    }

  private:
    Connection connection_;
    std::optional<int> run_;
    std::vector<std::string> lines_;
};

class RemoteShellOfRawAgent : public CoordinatorTest {
  protected:
    RemoteShellOfRawAgent() {
        const auto turned = [&](const auto& condition) {
            serve_until([&] {
                agent_->turn();
                return condition();
            });
        };
        turned([&] { return agent_->open(); });
        agent_->send(JoinRequest{.host_name = "here", .wanted_node = 1});
        for (int run = 0; run < 2; ++run) coordinator_->begin_run({}, {"a", "b"}, {"a", "b"});
        turned([&] { return coordinator_->is_connected(1); });
        shell_.ask("b", "orted");
        turned([&] { return agent_->run().has_value(); });
    }
    Message received_by_shell() {
        std::optional<Message> received;
        serve_until([&] { return (received = shell_.receive()).has_value(); });
        return received.value_or(Heartbeat{});
    }

    std::optional<RawAgent> agent_{port_};
    RemoteShell shell_{remote_shells()};
};

TEST_F(RemoteShellOfRawAgent, HearsNothingOfAnEarlierRun) {
    const int run = agent_->run().value();
    agent_->send(DaemonOutput{.run = run - 1, .text = "earlier"});
    agent_->send(DaemonEnded{.run = run - 1});
    agent_->send(DaemonOutput{.run = run, .text = "now"});
    EXPECT_EQ(received_by_shell(), Message(DaemonOutput{.run = run, .text = "now"}));
}

TEST_F(RemoteShellOfRawAgent, LearnsThatItsNodeIsLostWhileItWaits) {
    agent_.reset();
    const auto received = received_by_shell();
    ASSERT_TRUE(std::holds_alternative<DaemonEnded>(received));
    EXPECT_EQ(std::get<DaemonEnded>(received).status, 1);
    EXPECT_EQ(std::get<DaemonEnded>(received).reason, coordinator_->lost().at(1));
}

class UnreadMessages : public CoordinatorTest {
  protected:
    UnreadMessages() {
        serve_until([&] {
            agent_.turn();
            return agent_.open();
        });
        agent_.send(JoinRequest{.host_name = "here", .wanted_node = 1});
        serve_until([&] { return coordinator_->is_connected(1); });
    }
    static std::string line(int number) {
        return std::string(1024UL * 1024, static_cast<char>('a' + number % 26));
    }
    void send_lines(int count) {
        for (int number = 0; number < count; ++number)
            coordinator_->send(1, FinalLine{.log = "workerlog.1", .line = line(number)});
    }

    RawAgent agent_{port_};
};

// More than the sockets hold, and less than the coordinator keeps.
TEST_F(UnreadMessages, WaitForAnAgentThatReadsLate) {
    constexpr int count = 14;
    send_lines(count);
    EXPECT_TRUE(coordinator_->is_connected(1));
    serve_until([&] {
        agent_.turn();
        return agent_.lines().size() == count;
    });
    for (int number = 0; number < count; ++number)
        EXPECT_EQ(agent_.lines()[static_cast<std::size_t>(number)], line(number));
}

TEST_F(UnreadMessages, CostAnAgentThatReadsNothingItsPlace) {
    send_lines(64);
    ASSERT_TRUE(coordinator_->lost().contains(1));
    EXPECT_THAT(coordinator_->lost().at(1), HasSubstr("takes no messages any more"));
}

TEST_F(CoordinatorTest, ARemoteShellLearnsThatItsNodeIsLost) {
    coordinator_->begin_run({}, {"a", "b"}, {"a", "b"});
    std::atomic<bool> must_leave = false;
    auto options = node(1);
    options.must_leave = [&] { return must_leave.load(); };
    auto agent = started(options);
    serve_until([&] { return coordinator_->is_connected(1); });
    must_leave = true;
    serve_until([&] { return coordinator_->lost().contains(1); });
    RemoteShell late(remote_shells());
    late.ask("b", "orted");
    std::optional<Message> received;
    serve_until([&] { return (received = late.receive()).has_value(); });
    ASSERT_TRUE(std::holds_alternative<DaemonEnded>(*received));
    EXPECT_EQ(std::get<DaemonEnded>(*received).reason, coordinator_->lost().at(1));
    agent.get();
}

}  // namespace
}  // namespace dtrain::transport
