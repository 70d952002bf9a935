// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a stand-in of NCCL's RAS thread answers about a process whose thread has that one's name.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <functional>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "worker/nccl_ras.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;

using Answer = std::function<void(int connection)>;

void take_questions(int connection) {
    std::string questions;
    std::array<char, 256> piece;
    while (questions.find("VERBOSE STATUS\n") == std::string::npos) {
        const auto got = ::read(connection, piece.data(), piece.size());
        if (got <= 0) return;
        questions.append(piece.data(), static_cast<std::size_t>(got));
    }
    EXPECT_EQ(questions, "CLIENT PROTOCOL 2\nTIMEOUT 2\nSET FORMAT json\nVERBOSE STATUS\n");
}

Answer of_process(pid_t pid) {
    return [pid](int connection) {
        take_questions(connection);
        write_all(
            connection,
            fmt::format("SERVER PROTOCOL 2\nOK\nOK\n{{\"communicators\": [{{\"hash\": \"0xa\", \"size\": 1, "
                        "\"ranks\": [{{\"rank\": 0, \"host\": \"127.0.0.1\", \"pid\": {}}}]}}]}}\n",
                        pid));
    };
}

void until_the_other_side_ends(int connection) {
    std::array<char, 256> piece;
    while (::read(connection, piece.data(), piece.size()) > 0) {
    }
}

/// Answers one connection after the other.
class RasStandIn {
  public:
    RasStandIn() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const name = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(listener_.get(), name, size), 0);
        EXPECT_EQ(::listen(listener_.get(), 8), 0);
        EXPECT_EQ(::getsockname(listener_.get(), name, &size), 0);
        port_ = ntohs(address.sin_port);
    }
    RasStandIn(const RasStandIn&) = delete;
    RasStandIn& operator=(const RasStandIn&) = delete;
    ~RasStandIn() { ::shutdown(listener_.get(), SHUT_RDWR); }

    void answer(std::deque<Answer> answers) {
        thread_ = std::jthread([this, answers = std::move(answers)] {
            for (const auto& each : answers) {
                const FileDescriptor connection(::accept(listener_.get(), nullptr, nullptr));
                if (!connection.valid()) return;
                ++connections_;
                each(connection.get());
            }
        });
    }
    std::string address() const { return fmt::format("127.0.0.1:{}", port_); }
    int connections() const { return connections_; }

  private:
    FileDescriptor listener_;
    int port_ = 0;
    std::atomic<int> connections_ = 0;
    std::jthread thread_;
};

class NcclRas : public testing::Test {
  protected:
    NcclRas() { std::signal(SIGPIPE, SIG_IGN); }

    /// A program with a thread of that name.
    pid_t start(const std::string& name, Environment environment) {
        const auto path = folder_.path() / name;
        std::filesystem::copy_file("/bin/sleep", path);
        program_.emplace(ProcessOptions{.argv = {path.string(), "1000"},
                                        .environment = std::move(environment),
                                        .parent_death_signal = SIGKILL});
        const auto comm = fmt::format("/proc/{}/comm", program_->pid());
        while (read_file(comm).value_or("") != name + "\n") std::this_thread::sleep_for(1ms);
        return program_->pid();
    }
    pid_t start_with_nccl() { return start("NCCL RAS", {{"NCCL_RAS_ADDR", ras_.address()}}); }

    tests::TemporaryFolder folder_;
    RasStandIn ras_;
    std::optional<Subprocess> program_;
};

TEST_F(NcclRas, TellsOfTheProcess) {
    const auto pid = start_with_nccl();
    ras_.answer({of_process(pid)});
    const auto view = nccl_view({::getpid(), pid}, 20s);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->self, (trace::NcclProcess{.host = "127.0.0.1", .pid = pid}));
    EXPECT_THAT(view->memberships,
                testing::ElementsAre(trace::NcclMembership{.communicator = "0xa", .size = 1}));
}

TEST_F(NcclRas, IsAskedAgainWhereAnotherJobHasAnsweredOrNobody) {
    const auto pid = start_with_nccl();
    ras_.answer({until_the_other_side_ends, of_process(pid + 1), of_process(pid)});
    const auto view = nccl_view({pid}, 20s);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->self.pid, pid);
    EXPECT_EQ(ras_.connections(), 3);
}

TEST_F(NcclRas, IsNotAskedForEver) {
    const auto pid = start_with_nccl();
    const auto of_another = of_process(pid + 1);
    ras_.answer({of_another, of_another, of_another, of_another, of_process(pid)});
    EXPECT_FALSE(nccl_view({pid}, 20s));
    EXPECT_EQ(ras_.connections(), 4);
}

TEST_F(NcclRas, WhoDoesNotEndIsNotWaitedFor) {
    const auto pid = start_with_nccl();
    ras_.answer({[](int connection) {
        take_questions(connection);
        write_all(connection, "SERVER PROTOCOL 2\nOK\nOK\n{");
        until_the_other_side_ends(connection);
    }});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(nccl_view({pid}, 500ms));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(NcclRas, WhoSendsTooMuchIsNotReadToTheEnd) {
    const auto pid = start_with_nccl();
    std::atomic<bool> was_refused = false;
    const Answer huge = [&](int connection) {
        take_questions(connection);
        for (int sent = 0; sent < 100 && !was_refused; ++sent)
            was_refused = !write_all(connection, std::string(1 << 20, ' '));
    };
    ras_.answer({huge, of_process(pid)});
    EXPECT_TRUE(nccl_view({pid}, 20s));
    EXPECT_TRUE(was_refused);
}

TEST_F(NcclRas, OfProcessesWithoutNcclNobodyIsAsked) {
    const auto pid = start("sleep", {{"NCCL_RAS_ADDR", ras_.address()}});
    ras_.answer({of_process(pid)});
    EXPECT_FALSE(nccl_view({pid}, 20s));
    EXPECT_EQ(ras_.connections(), 0);
}

TEST_F(NcclRas, IsNotAskedWhereItIsOff) {
    const auto pid = start("NCCL RAS", {{"NCCL_RAS_ADDR", ras_.address()}, {"NCCL_RAS_ENABLE", "0"}});
    ras_.answer({of_process(pid)});
    EXPECT_FALSE(nccl_view({pid}, 20s));
    EXPECT_EQ(ras_.connections(), 0);
}

TEST_F(NcclRas, WhereNobodyListensNobodyIsWaitedFor) {
    const auto pid = start("NCCL RAS", {{"NCCL_RAS_ADDR", "127.0.0.1:1"}});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(nccl_view({pid}, 100s));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 50s);
}

TEST(RasAddress, IsHostAndPort) {
    EXPECT_EQ(parse_ras_address("localhost:28028"), RasAddress());
    EXPECT_EQ(parse_ras_address("10.0.0.1:7"), (RasAddress{.host = "10.0.0.1", .port = 7}));
    EXPECT_EQ(parse_ras_address("[::1]:7"), (RasAddress{.host = "::1", .port = 7}));
    EXPECT_EQ(parse_ras_address("[fe80::1%eth0]:7"), (RasAddress{.host = "fe80::1", .port = 7}));
    for (const auto* const wrong :
         {"", ":", "localhost", "localhost:", ":7", "a:0", "a:65536", "a:-1", "a:x", "[]:7"})
        EXPECT_FALSE(parse_ras_address(wrong)) << wrong;
}

}  // namespace
}  // namespace dtrain::worker
