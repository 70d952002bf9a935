// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Peers that have proven the key and then say what no launcher says: damaged messages, messages out of turn,
// noise. 10,000 for each side, with DTRAIN_STRESS=1 100,000. Oracle: whoever does nothing wrong beside them
// is served to the end; nothing is run or written that was not asked for; the connection ends by a reason,
// and nothing else ends.
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "keys.hpp"
#include "messages_of_each_kind.hpp"
#include "support/fuzz.hpp"
#include "support/temporary_folder.hpp"
#include "transport/agent.hpp"
#include "transport/channel.hpp"
#include "transport/coordinator.hpp"
#include "transport/tcp.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int messages() {
    return std::getenv("DTRAIN_STRESS") != nullptr ? 100'000 : 10'000;
}

tests::Corpus corpus() {
    tests::Corpus out{.pieces = {"{", "}", "\"is\"", ":", "\"request\"", "null", "[", "]", "1e999", ","}};
    for (const auto& message : one_of_each()) out.examples.push_back(encode(message));
    return out;
}

/// One end of a connection that keeps to the handshake and to the cipher, and to nothing else.
class Hostile {
  public:
    Hostile(FileDescriptor socket, Channel::Side side) : socket_(std::move(socket)), channel_(side, key) {
        make_nonblocking(socket_.get());
    }

    bool open() const { return channel_.open(); }
    /// Sends and takes what there is; false when the other side has closed the connection.
    bool turn() {
        unsent_ += channel_.take_output();
        while (!unsent_.empty()) {
            const auto sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
            if (sent < 0) {
                if (errno == EAGAIN) break;
                return false;
            }
            unsent_.erase(0, static_cast<std::size_t>(sent));
        }
        std::array<char, 4096> buffer{};
        const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN;
        channel_.take({buffer.data(), static_cast<std::size_t>(got)});
        while (channel_.next()) {
        }
        return true;
    }
    void send(std::string_view message) { channel_.send(message.substr(0, max_message / 2)); }
    bool has_sent_all() const { return unsent_.empty(); }

  private:
    FileDescriptor socket_;
    Channel channel_;
    std::string unsent_;
};

FileDescriptor connected(int port) {
    auto out = connect_to("127.0.0.1", port, seconds(5));
    return std::move(std::get<FileDescriptor>(out));
}

class HostilePeers : public testing::Test {
  protected:
    HostilePeers() : corpus_(corpus()), mutator_(corpus_, 1) {}

    /// Mostly a message of a kind that there is, whole or damaged.
    std::string message() {
        return mutator_.one_in(3)   ? mutator_.any_of(corpus_.examples)
               : mutator_.one_in(4) ? mutator_.text()
                                    : mutator_.damaged(mutator_.any_of(corpus_.examples));
    }

    tests::Corpus corpus_;
    tests::Mutator mutator_;
    tests::TemporaryFolder folder_;
};

TEST_F(HostilePeers, ACoordinatorServesItsOtherAgentsAndRemoteShells) {
    auto listener = listen_at("127.0.0.1", 0);
    const int port = port_of(listener);
    static constexpr int good = 1;
    static constexpr int hostile_node = 2;
    Coordinator coordinator({.listener = std::move(listener),
                             .key = key,
                             .name = "coordinator",
                             .admit = [](const JoinRequest& request) -> Admission {
                                 return request.host_name == "good" ? good : hostile_node;
                             },
                             .arrived = {}});
    const auto remote_shells = (folder_ / "remote_shells").string();
    coordinator.serve_remote_shells(remote_shells);
    AgentOptions options{
        .coordinator = "127.0.0.1", .port = port, .key = key, .request = {.host_name = "good"}};
    Following agent(options, connected(port));
    const auto serve = [&] {
        coordinator.reactor().wait(milliseconds(0));
        agent.reactor().wait(milliseconds(0));
    };
    while (!coordinator.is_connected(good)) serve();
    coordinator.begin_run({}, {"a", "b", "c"}, {"a", "b", "c"});
    coordinator.send(good, Accepted{.node = good, .nodes = 3});

    int connections = 0;
    int times_admitted = 0;
    std::optional<Hostile> hostile;
    std::optional<FileDescriptor> remote_shell;
    for (int sent = 0; sent < messages();) {
        if (!hostile) {
            hostile.emplace(connected(port), Channel::Side::agent);
            ++connections;
            while (!hostile->open() && hostile->turn()) serve();
            if (mutator_.one_in(2)) hostile->send(encode(JoinRequest{.host_name = "hostile"}));
        }
        hostile->send(message());
        ++sent;
        if (!remote_shell) remote_shell.emplace(connect_to_path(remote_shells));
        const auto wish = framed(message());
        if (::send(remote_shell->get(), wish.data(), wish.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            remote_shell.reset();
        bool is_open = true;
        do {
            is_open = hostile->turn();
            serve();
        } while (is_open && !hostile->has_sent_all());
        if (coordinator.is_connected(hostile_node)) ++times_admitted;
        if (!is_open) hostile.reset();
    }
    EXPECT_GT(connections, messages() / 100);
    EXPECT_GT(times_admitted, messages() / 100);
    EXPECT_TRUE(coordinator.is_connected(good));
    EXPECT_FALSE(coordinator.lost().contains(good));
    EXPECT_EQ(agent.lost(), "");
    coordinator.end({.status = 3, .text = "over"});
    const auto give_up_at = std::chrono::steady_clock::now() + seconds(20);
    while (!agent.outcome() && std::chrono::steady_clock::now() < give_up_at) serve();
    ASSERT_TRUE(agent.outcome());
    EXPECT_EQ(agent.outcome()->status, 3);
    EXPECT_EQ(agent.outcome()->text, "over");
}

TEST_F(HostilePeers, AnAgentEndsByAReasonAndRunsNothing) {
    auto listener = listen_at("127.0.0.1", 0);
    const int port = port_of(listener);
    const auto proof = folder_ / "was-run";
    corpus_.examples.push_back(encode(RunDaemon{.run = 1, .command = "touch " + proof.string()}));
    corpus_.examples.push_back(encode(RunDaemon{.run = 1, .command = "orted; touch " + proof.string()}));
    corpus_.pieces.push_back(";touch " + proof.string() + ";");
    int stops = 0;
    AgentOptions options{.coordinator = "127.0.0.1",
                         .port = port,
                         .key = key,
                         .request = {},
                         .environment = {{"PATH", "/nonexistent"}, {"TMPDIR", folder_.path().string()}},
                         .on_stop = [&](int) { ++stops; }};
    int connections = 0;
    int accepted = 0;
    options.accepted = [&](const Accepted&) { ++accepted; };
    for (int sent = 0; sent < messages(); ++connections) {
        Following agent(options, connected(port));
        const FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        Hostile coordinator(FileDescriptor(::dup(socket.get())), Channel::Side::coordinator);
        const auto is_over = [&] { return agent.outcome() || !agent.lost().empty(); };
        try {
            while (!is_over()) {
                agent.reactor().wait(milliseconds(0));
                if (!coordinator.turn()) break;
                if (!coordinator.open() || !coordinator.has_sent_all()) continue;
                coordinator.send(message());
                ++sent;
            }
        } catch (const UsageError& refused) {
            EXPECT_THAT(refused.what(), testing::HasSubstr("node 0 (127.0.0.1)"));
            continue;
        }
        if (agent.outcome() && !agent.outcome()->left) continue;
        EXPECT_NE(agent.lost(), "");
    }
    EXPECT_GT(connections, messages() / 100);
    EXPECT_GT(accepted, 0);
    EXPECT_EQ(stops, 0);
    EXPECT_FALSE(std::filesystem::exists(proof));
}

}  // namespace
}  // namespace dtrain::transport
