// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the test itself gives as text; the kernel's table of descriptors.
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/ports.hpp"
#include "scrape/endpoint.hpp"
#include "scrape/listen_address.hpp"

namespace dtrain::scrape {
namespace {

using testing::EndsWith;
using testing::StartsWith;

const std::string request = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";

class Served {
  public:
    explicit Served(std::function<std::string()> text)
        : Served(listen_at({}, "--metrics-port"), std::move(text)) {}

    FileDescriptor connected() const {
        FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(static_cast<std::uint16_t>(port_));
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        return socket;
    }

    std::string response(const std::string& text = request) const {
        const auto socket = connected();
        EXPECT_TRUE(write_all(socket.get(), text));
        return rest_of(socket);
    }

    static std::string rest_of(const FileDescriptor& socket) {
        std::string out;
        std::array<char, 4096> buffer;
        for (ssize_t got; (got = ::read(socket.get(), buffer.data(), buffer.size())) > 0;)
            out.append(buffer.data(), static_cast<std::size_t>(got));
        return out;
    }

  private:
    Served(FileDescriptor listener, std::function<std::string()> text)
        : port_(port_of(listener)), endpoint_(std::move(listener), std::move(text)) {}

    int port_;
    Endpoint endpoint_;
};

TEST(Endpoint, GivesTheTextOfNow) {
    std::atomic<int> value = 1;
    const Served served([&] { return "a " + std::to_string(value) + "\n"; });
    EXPECT_THAT(served.response(),
                testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\na 1\n")));
    value = 2;
    EXPECT_THAT(served.response(), EndsWith("\r\n\r\na 2\n"));
    EXPECT_THAT(served.response("PUT / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
}

TEST(Endpoint, AnswersBesideClientsThatSayNothing) {
    const Served served([] { return std::string("a 1\n"); });
    std::vector<FileDescriptor> silent;
    for (int client = 0; client < 40; ++client) silent.push_back(served.connected());
    EXPECT_THAT(served.response(), EndsWith("a 1\n"));
    auto slow = served.connected();
    for (const char letter : request) {
        EXPECT_TRUE(write_all(slow.get(), std::string(1, letter)));
        if (letter == '/') {
            EXPECT_THAT(served.response(), EndsWith("a 1\n"));
        }
    }
    EXPECT_THAT(Served::rest_of(slow), EndsWith("a 1\n"));
}

TEST(Endpoint, GivesAllOfALongTextToAClientThatSaysMore) {
    const std::string text(8 << 20, 'a');  // more than a socket takes
    const Served served([&] { return text; });
    const auto answer = served.response(request + request);
    EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), text);
    {
        const auto gone = served.connected();  // leaves with its answer unread
        EXPECT_TRUE(write_all(gone.get(), request));
    }
    EXPECT_EQ(served.response(), answer);
}

TEST(Endpoint, EndsBesideClientsThatStay) {
    std::vector<FileDescriptor> open;
    {
        const Served served([] { return std::string(8 << 20, 'a'); });
        open.push_back(served.connected());  // says nothing
        open.push_back(served.connected());  // reads nothing
        EXPECT_TRUE(write_all(open.back().get(), request));
        served.response();
    }
    EXPECT_EQ(Served::rest_of(open.front()), "");
}

TEST(Endpoint, LeavesSignalsAndProgramsAlone) {
    const auto threads = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    };
    const auto before = threads();
    const auto served = std::make_unique<Served>([] { return std::string("a 1\n"); });
    EXPECT_EQ(threads(), before + 1);
    const auto client = served->connected();
    EXPECT_THAT(served->response(), EndsWith("a 1\n"));
    std::vector<std::string> inherited;  // by a program that is started now
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(each.path(), gone).string();
        const int fd = std::stoi(each.path().filename());
        if (!gone && target.starts_with("socket:") && (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
            inherited.push_back(target);
    }
    EXPECT_THAT(inherited, testing::IsEmpty());
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (std::stoi(task.path().filename()) == ::getpid()) continue;
        const auto status = read_file(task.path() / "status").value();
        const auto at = status.find("SigBlk:\t");
        const auto blocked = std::stoull(status.substr(at + 8, 16), nullptr, 16);
        for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGUSR1, SIGPIPE})
            EXPECT_NE(blocked & (1ULL << (signal - 1)), 0U) << signal;
    }
}

}  // namespace
}  // namespace dtrain::scrape
