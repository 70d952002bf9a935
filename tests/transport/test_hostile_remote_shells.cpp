// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// The socket of the remote shells, to which any program of the same user may connect: noise, damaged and cut
// messages, lengths that nobody sends, connections that say nothing or read nothing. 10,000 connections, with
// DTRAIN_STRESS=1 100,000. Oracle: a remote shell that does nothing wrong beside them is served to the end,
// the agent stays, and descriptors and memory of the coordinator stay bounded.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ports.hpp"
#include "keys.hpp"
#include "messages_of_each_kind.hpp"
#include "support/fuzz.hpp"
#include "support/resources_in_use.hpp"
#include "support/temporary_folder.hpp"
#include "transport/connection.hpp"
#include "transport/coordinator.hpp"
#include "transport/tcp.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

int connections() {
    return std::getenv("DTRAIN_STRESS") != nullptr ? 100'000 : 10'000;
}

tests::Corpus requests_and_pieces() {
    tests::Corpus out{.examples = {},
                      .pieces = {"{", "}", "\"is\"", ":", "\"run_on\"", "[", "]", std::string(4, '\0'),
                                 std::string(4, '\xff'), std::string("\0\0\0\2{}", 6)}};
    for (const auto& message : one_of_each()) out.examples.push_back(framed(encode(message)));
    return out;
}

/// A remote shell as it should be, or what else connects to its socket.
class Client {
  public:
    explicit Client(const std::string& path) : socket_(connect_to_path(path)) {}

    /// Sends what the socket takes.
    bool send(std::string_view bytes) const {
        return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    }
    bool ask(const std::string& host, const std::string& command) const {
        return send(framed(encode(RunOn{.host = host, .command = command})));
    }
    std::optional<Message> receive() {
        std::array<char, 4096> buffer{};
        const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got > 0) frames_.take({buffer.data(), static_cast<std::size_t>(got)});
        closed_ = got == 0 || (got < 0 && errno != EAGAIN);
        const auto frame = frames_.next();
        return frame ? std::optional(decode(*frame)) : std::nullopt;
    }
    bool closed() const { return closed_; }

  private:
    FileDescriptor socket_;
    FrameReader frames_{max_message};
    bool closed_ = false;
};

/// A process that lives as long as this object and does `work` first.
class Elsewhere {
  public:
    template <class Work>
    explicit Elsewhere(const Work& work) {
        std::array<int, 2> done{};
        if (::pipe(done.data()) != 0) throw std::runtime_error("pipe");
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(done[0]);
            work();
            ::close(done[1]);
            for (;;) ::pause();
        }
        ::close(done[1]);
        done_ = FileDescriptor(done[0]);
    }
    ~Elsewhere() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;
    bool has_done() const {
        pollfd readable{done_.get(), POLLIN, 0};
        return ::poll(&readable, 1, 0) > 0;
    }

  private:
    pid_t pid_ = 0;
    FileDescriptor done_;
};

class DescriptorLimit {
  public:
    explicit DescriptorLimit(std::size_t limit) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        auto lowered = before_;
        lowered.rlim_cur = limit;
        ::setrlimit(RLIMIT_NOFILE, &lowered);
    }
    ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    DescriptorLimit(const DescriptorLimit&) = delete;
    DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  private:
    rlimit before_{};
};

/// A coordinator, and an agent of node 1 ("b") that runs nothing.
class HostileRemoteShells : public testing::Test {
  protected:
    void begin() {
        auto listener = listen_at("127.0.0.1", 0);
        const int port = port_of(listener);
        coordinator_ = std::make_unique<Coordinator>(
            Coordinator::Options{.listener = std::move(listener),
                                 .key = key,
                                 .name = "coordinator",
                                 .admit = [](const JoinRequest&) -> Admission { return 1; },
                                 .arrived = {}});
        coordinator_->serve_remote_shells(path());
        coordinator_->begin_run({.job_token = "token"}, {"a", "b", "c"}, {"host-a", "host-b", "host-c"});
        agent_ = std::make_unique<Connection>(
            std::get<FileDescriptor>(connect_to("127.0.0.1", port, seconds(5))), Channel::Side::agent, key);
        make_nonblocking(agent_->fd());
        serve_until([&] { return agent_->open(); });
        agent_->send(JoinRequest{.host_name = "b"});
        serve_until([&] { return coordinator_->is_connected(1); });
    }

    std::string path() const { return (folder_ / "remote_shells").string(); }

    void serve() {
        coordinator_->reactor().wait(milliseconds(0));
        agent_->write();
        if (agent_->has_input()) agent_->read();
        while (const auto message = agent_->next()) {
            if (const auto* wish = std::get_if<RunDaemon>(&*message)) run_ = *wish;
            if (std::holds_alternative<StopDaemon>(*message)) ++stops_;
        }
    }

    template <class Condition>
    void serve_until(const Condition& condition) {
        const auto give_up_at = std::chrono::steady_clock::now() + seconds(20);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), give_up_at);
            serve();
        }
    }

    Message answer_to(Client& client) {
        std::optional<Message> received;
        serve_until([&] { return (received = client.receive()) || client.closed(); });
        return received.value_or(Heartbeat{});
    }

    void expect_that_a_node_without_agent_is_served() {
        Client shell(path());
        shell.ask("c", "orted");
        EXPECT_EQ(answer_to(shell), Message(UseSsh{"host-c"}));
    }

    void expect_that_an_agent_is_served() {
        run_.reset();
        Client shell(path());
        shell.ask("b", "orted");
        serve_until([&] { return run_.has_value(); });
        ASSERT_TRUE(run_);
        EXPECT_EQ(run_->command, "orted");
        agent_->send(DaemonOutput{.run = run_->run, .text = "it begins\n"});
        EXPECT_EQ(answer_to(shell), Message(DaemonOutput{.run = run_->run, .text = "it begins\n"}));
        agent_->send(DaemonEnded{.run = run_->run, .status = 3});
        EXPECT_EQ(answer_to(shell), Message(DaemonEnded{.run = run_->run, .status = 3}));
    }

    tests::TemporaryFolder folder_;
    std::unique_ptr<Coordinator> coordinator_;
    std::unique_ptr<Connection> agent_;
    std::optional<RunDaemon> run_;  ///< the daemon that the agent was asked for last
    int stops_ = 0;
};

TEST_F(HostileRemoteShells, AnythingThatIsSaidLeavesTheOthersServed) {
    begin();
    const auto pieces = requests_and_pieces();
    tests::Mutator mutator(pieces, 1);
    std::optional<Client> client;
    long memory = 0;
    for (int count = 0; count < connections(); ++count) {
        client.emplace(path());  // closes the one before, in the middle of whatever it said
        for (auto left = 1 + mutator.below(3); left > 0; --left) {
            const auto text = mutator.one_in(8) ? mutator.any_of(pieces.examples) : mutator.text();
            if (!client->send(mutator.one_in(8) ? text + text : text)) break;
            serve();
        }
        if (mutator.one_in(200)) {
            client.reset();
            serve();
            serve();
            expect_that_a_node_without_agent_is_served();
            expect_that_an_agent_is_served();
        }
        if (count == connections() / 10) memory = tests::resident_memory();
        ASSERT_LT(tests::open_descriptors(), 200U);
    }
    constexpr long allowed = 32L * 1024;
    EXPECT_LT(tests::resident_memory() - memory, allowed);
    EXPECT_TRUE(coordinator_->is_connected(1));
    EXPECT_TRUE(coordinator_->lost().empty());
    EXPECT_GT(stops_, 0);  // some were understood
}

TEST_F(HostileRemoteShells, ConnectionsThatSayNothingUseUpNoDescriptors) {
    constexpr std::size_t limit = 128;
    const DescriptorLimit lowered(limit);
    begin();
    const Elsewhere flood([&] {
        std::vector<FileDescriptor> sockets;
        rlimit many{};
        ::getrlimit(RLIMIT_NOFILE, &many);
        many.rlim_cur = many.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &many);
        for (int count = 0; count < 300; ++count) {
            sockets.push_back(connect_to_path(path()));
            if (count % 2 == 0) ::send(sockets.back().get(), "\0\0", 2, MSG_NOSIGNAL);
        }
        for (auto& socket : sockets) socket.release();
    });
    serve_until([&] { return flood.has_done(); });
    for (int turns = 0; turns < 1000; ++turns) serve();
    EXPECT_LT(tests::open_descriptors(), limit / 2 + 16);
    expect_that_a_node_without_agent_is_served();
    expect_that_an_agent_is_served();
}

TEST_F(HostileRemoteShells, ConnectionsThatHaveTheirAnswerUseUpNoDescriptors) {
    const DescriptorLimit lowered(128);
    begin();
    const Elsewhere flood([&] {
        for (int count = 0; count < 90; ++count) {
            auto socket = connect_to_path(path());
            const auto wish = framed(encode(RunOn{.host = "c", .command = "orted"}));
            ::send(socket.get(), wish.data(), wish.size(), MSG_NOSIGNAL);
            socket.release();
        }
    });
    serve_until([&] { return flood.has_done(); });
    for (int turns = 0; turns < 1000; ++turns) serve();
    EXPECT_LT(tests::open_descriptors(), 128U / 2 + 16);
    expect_that_an_agent_is_served();
}

TEST_F(HostileRemoteShells, OneForWhichThereIsNoDescriptorWaitsAndCostsNoTime) {
    begin();
    std::optional<tests::NoMoreDescriptors> none(std::in_place);
    const auto pid = ::fork();
    if (pid == 0) {
        none.reset();
        Client shell(path());
        shell.ask("c", "orted");
        std::optional<Message> received;
        while (!(received = shell.receive()) && !shell.closed()) ::usleep(1000);
        ::_exit(received == Message(UseSsh{"host-c"}) ? 0 : 1);
    }
    ::usleep(300'000);
    int wakings = 0;
    const auto until = std::chrono::steady_clock::now() + milliseconds(700);
    while (std::chrono::steady_clock::now() < until) {
        coordinator_->reactor().wait(milliseconds(50));
        ++wakings;
    }
    EXPECT_LT(wakings, 100);
    EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), 0);  // it waits
    none.reset();
    int status = -1;
    serve_until([&] { return ::waitpid(pid, &status, WNOHANG) == pid; });
    EXPECT_EQ(status, 0);
}

// All that are begun have as much room as 16 that are complete.
TEST_F(HostileRemoteShells, MessagesThatAreNeverCompleteKeepLittleMemory) {
    begin();
    const std::string head("\0\x40\0\0", 4);  // 4 MiB follow
    const std::string piece(64UL * 1024, ' ');
    std::vector<std::unique_ptr<Client>> clients;
    for (int count = 0; count < 60; ++count) {
        auto client = std::make_unique<Client>(path());
        client->send(head);
        for (int sent = 0; sent < 60; ++sent) {
            client->send(piece);
            serve();
            serve();
            serve();
            serve();
        }
        clients.push_back(std::move(client));
    }
    const auto kept = std::count_if(clients.begin(), clients.end(), [](const auto& client) {
        client->receive();
        return !client->closed();
    });
    EXPECT_LE(kept, 18);
    EXPECT_GT(kept, 0);
    expect_that_a_node_without_agent_is_served();
}

TEST_F(HostileRemoteShells, QuestionsWithoutReadingAnAnswerKeepLittleMemory) {
    begin();
    const auto memory = tests::resident_memory();
    Client client(path());
    std::string wishes;
    for (int count = 0; count < 1000; ++count)
        wishes += framed(encode(RunOn{.host = "c", .command = "orted"}));
    for (int sent = 0; sent < 1000 && client.send(wishes); ++sent)
        for (int turns = 0; turns < 8; ++turns) serve();
    constexpr long allowed = 8L * 1024;
    EXPECT_LT(tests::resident_memory() - memory, allowed);
    expect_that_a_node_without_agent_is_served();
}

TEST_F(HostileRemoteShells, ACommandThatIsTooLongForTheLinkCostsNoAgent) {
    begin();
    Client shell(path());
    const auto wish = framed(encode(RunOn{.host = "b", .command = std::string(max_message - 64, 'x')}));
    for (std::size_t sent = 0; sent < wish.size(); sent += 16 * 1024) {
        ASSERT_TRUE(shell.send(std::string_view(wish).substr(sent, 16 * 1024)));
        serve();
        serve();
    }
    const auto received = answer_to(shell);
    const auto* ended = std::get_if<DaemonEnded>(&received);
    ASSERT_NE(ended, nullptr);
    EXPECT_EQ(ended->status, 1);
    EXPECT_THAT(ended->reason, HasSubstr("too long"));
    EXPECT_TRUE(coordinator_->is_connected(1));
    expect_that_an_agent_is_served();
}

TEST_F(HostileRemoteShells, ASecondOneTakesNoNodeFromTheFirst) {
    begin();
    Client first(path());
    first.ask("b", "orted");
    serve_until([&] { return run_.has_value(); });
    Client second(path());
    second.ask("b", "something else");
    const auto refused = answer_to(second);
    ASSERT_TRUE(std::holds_alternative<DaemonEnded>(refused));
    EXPECT_THAT(std::get<DaemonEnded>(refused).reason, HasSubstr("another remote shell"));
    EXPECT_EQ(run_->command, "orted");
    agent_->send(DaemonEnded{.run = run_->run, .status = 5});
    EXPECT_EQ(answer_to(first), Message(DaemonEnded{.run = run_->run, .status = 5}));
}

TEST_F(HostileRemoteShells, OneThatAsksTwiceIsClosedAndItsDaemonStopped) {
    begin();
    Client shell(path());
    shell.ask("b", "orted");
    serve_until([&] { return run_.has_value(); });
    shell.ask("c", "orted");
    serve_until([&] { return stops_ == 1; });
    EXPECT_EQ(answer_to(shell), Message(Heartbeat{}));  // nothing
    EXPECT_TRUE(shell.closed());
}

TEST_F(HostileRemoteShells, TheNextMpirunsDaemonsAreNotThoseOfTheLast) {
    begin();
    Client last(path());
    last.ask("b", "orted");
    serve_until([&] { return run_.has_value(); });
    const int run = run_->run;
    coordinator_->begin_run({.job_token = "token"}, {"a", "b", "c"}, {"host-a", "host-b", "host-c"});
    serve_until([&] { return stops_ == 1; });
    expect_that_an_agent_is_served();
    EXPECT_GT(run_->run, run);
}

}  // namespace
}  // namespace dtrain::transport
