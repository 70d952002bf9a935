// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What a remote shell does when the launcher at its socket answers rubbish: noise, damaged and cut messages,
// lengths that nobody sends, messages out of turn, a connection closed in the middle. 1000 answers, with
// DTRAIN_STRESS=1 10,000, each for a process of its own. Oracle: remote_shell.hpp: it ends, with the status
// that it was told, or 1 and one line that names what is wrong (2 where it is to use ssh and there is none),
// by no signal; what it printed before is the output of the daemon.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/run_main.hpp>

#include "base/exit_status.hpp"
#include "messages_of_each_kind.hpp"
#include "support/fuzz.hpp"
#include "support/temporary_folder.hpp"
#include "transport/channel.hpp"
#include "transport/remote_shell.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::transport {
namespace {

using std::chrono::seconds;

int answers() {
    return std::getenv("DTRAIN_STRESS") != nullptr ? 10'000 : 1000;
}

tests::Corpus answers_and_pieces() {
    tests::Corpus out{.examples = {},
                      .pieces = {"{", "}", "\"is\"", ":", "\"daemon_ended\"", "[", "]", std::string(4, '\0'),
                                 std::string(4, '\xff'), std::string("\0\0\0\2{}", 6)}};
    for (const auto& message : one_of_each()) out.examples.push_back(framed(encode(message)));
    return out;
}

/// A remote shell in a process of its own.
class RemoteShellProcess {
  public:
    RemoteShellProcess(const std::string& path, const std::string& command)
        : errors_(::memfd_create("stderr", MFD_CLOEXEC)), pid_(::fork()) {
        if (pid_ != 0) return;
        ::signal(SIGPIPE, SIG_DFL);
        ::dup2(errors_.get(), STDERR_FILENO);
        if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(99);
        const Environment environment{{"PATH", "/nonexistent"}, {"DTRAIN_AGENT_SOCKET", path}};
        ::_exit(run_main("dtrain-rsh", [&] { return run_remote_shell({"b", command}, environment); }));
    }
    ~RemoteShellProcess() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    RemoteShellProcess(const RemoteShellProcess&) = delete;
    RemoteShellProcess& operator=(const RemoteShellProcess&) = delete;

    /// As in a shell; -1 if it has not ended.
    int status() const {
        const auto give_up_at = std::chrono::steady_clock::now() + seconds(20);
        for (int status = 0; std::chrono::steady_clock::now() < give_up_at; ::usleep(200)) {
            if (::waitpid(pid_, &status, WNOHANG) != pid_) continue;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        return -1;
    }
    std::string errors() const { return tests::bytes_of("/proc/self/fd/" + std::to_string(errors_.get())); }

  private:
    FileDescriptor errors_;
    pid_t pid_;
};

struct Expected {
    int status = status_failed;
    std::string printed;                  ///< on stderr
    std::string names = "dtrain-launch";  ///< part of the line behind it; "": there is none
};

Expected expected_of(const std::string& answer) {
    Expected out;
    FrameReader frames(max_message);
    frames.take(answer);
    try {
        for (bool is_first = true; const auto frame = frames.next(); is_first = false) {
            const auto message = decode(*frame);
            if (const auto* output = std::get_if<DaemonOutput>(&message)) {
                if (output->to_stderr) out.printed += output->text;
                continue;
            }
            if (const auto* ended = std::get_if<DaemonEnded>(&message)) {
                out.status = ended->status;
                out.names = ended->reason.empty() ? "" : "node b: ";
            }
            if (std::holds_alternative<UseSsh>(message) && is_first) out.status = status_usage;
            return out;
        }
    } catch (const LinkError&) {
    }
    return out;
}

class HostileLauncher : public testing::Test {
  protected:
    /// The connection of the remote shell; invalid if it does not come.
    FileDescriptor accepted() const {
        pollfd readable{listener_.get(), POLLIN, 0};
        constexpr int limit_ms = 20'000;
        if (::poll(&readable, 1, limit_ms) != 1) return FileDescriptor();
        return FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    static void take_request(const FileDescriptor& socket) {
        FrameReader frames(max_message);
        std::string bytes(4096, '\0');
        std::optional<std::string> frame;
        while (!(frame = frames.next())) {
            const auto got = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
            ASSERT_GT(got, 0);
            frames.take({bytes.data(), static_cast<std::size_t>(got)});
        }
        EXPECT_EQ(decode(*frame), Message(RunOn{.host = "b", .command = "orted"}));
    }

    tests::TemporaryFolder folder_;
    std::string path_ = (folder_ / "launcher").string();
    FileDescriptor listener_ = listen_at_path(path_);
};

TEST_F(HostileLauncher, EndsTheRemoteShellByAStatusAndOneLine) {
    const auto pieces = answers_and_pieces();
    tests::Mutator mutator(pieces, 1);
    std::map<int, int> count_of;
    for (int count = 0; count < answers() && !HasFailure(); ++count) {
        std::string answer;
        while (mutator.one_in(3))
            answer += framed(encode(DaemonOutput{.to_stderr = mutator.one_in(2), .text = "it begins\n"}));
        for (auto left = mutator.below(3); left > 0; --left)
            answer += mutator.one_in(2) ? mutator.any_of(pieces.examples) : mutator.text();
        const RemoteShellProcess shell(path_, "orted");
        {
            const auto socket = accepted();
            ASSERT_TRUE(socket.valid());
            if (mutator.one_in(2)) take_request(socket);
            EXPECT_EQ(::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                      static_cast<ssize_t>(answer.size()));
        }
        const auto expected = expected_of(answer);
        const int status = shell.status();
        EXPECT_EQ(status, expected.status);
        ++count_of[status];
        const auto errors = shell.errors();
        EXPECT_THAT(errors, testing::StartsWith(expected.printed));
        const auto rest = errors.substr(std::min(errors.size(), expected.printed.size()));
        if (expected.names.empty())
            EXPECT_EQ(rest, "");
        else
            EXPECT_TRUE(rest.ends_with('\n') &&
                        tests::is_helpful(rest.substr(0, rest.size() - 1), {expected.names}))
                << tests::as_literal(rest);
        if (HasFailure()) ADD_FAILURE() << "answer " << count << ": " << tests::as_literal(answer);
    }
    EXPECT_GT(count_of[status_failed], answers() / 10);
    EXPECT_GT(count_of[status_usage], 0);
    EXPECT_GT(count_of[143], 0);  // that of the example
}

TEST_F(HostileLauncher, OneThatClosesWhileItIsAskedIsNamed) {
    const RemoteShellProcess shell(path_, std::string(2 * 1024 * 1024, 'x'));  // more than a socket holds
    {
        const auto socket = accepted();
        ASSERT_TRUE(socket.valid());
        ::usleep(50'000);
    }
    EXPECT_EQ(shell.status(), status_failed);
    EXPECT_THAT(shell.errors(), testing::HasSubstr("dtrain-launch closed its socket " + path_));
}

TEST_F(HostileLauncher, OneThatIsNotThereIsNamed) {
    const auto nowhere = (folder_ / "nowhere").string();
    const RemoteShellProcess shell(nowhere, "orted");
    EXPECT_EQ(shell.status(), status_failed);
    EXPECT_EQ(shell.errors(),
              "dtrain-rsh: cannot use the socket " + nowhere + ": No such file or directory\n");
}

TEST_F(HostileLauncher, AValueOfAMillionArraysIsNoMessage) {
    for (const std::string kind : {"daemon_ended", "stop_job"}) {
        std::string text = R"({"is":")" + kind + R"(","run":0,"signal":)";
        constexpr std::size_t depth = 1'000'000;
        text += std::string(depth, '[') + std::string(depth, ']') + R"(,"status":)";
        text += std::string(depth, '[') + std::string(depth, ']') + R"(,"reason":""})";
        EXPECT_THROW(decode(text), LinkError);
    }
}

}  // namespace
}  // namespace dtrain::transport
