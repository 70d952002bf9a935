// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/remote_shell.hpp"

#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/exec_image.hpp"
#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "transport/channel.hpp"
#include "transport/messages.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::transport {
namespace {

constexpr const char* end_of_options = "--";
constexpr const char* not_by_hand = "mpirun starts this program for dtrain-launch; it is of no use by itself";

/// A connection to the launcher.
class Launcher {
  public:
    explicit Launcher(const std::string& path) : path_(path), socket_(connect_to_path(path)) {}

    /// What was said before the launcher closed the connection can still be read.
    void send(const Message& message) const {
        auto text = framed(encode(message));
        while (!text.empty()) {
            const auto sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EINTR) return;
            if (sent > 0) text.erase(0, static_cast<std::size_t>(sent));
        }
    }

    /// @throws Error if what the launcher says is no message, or it has closed the connection
    Message receive() {
        try {
            for (;;) {
                if (const auto frame = frames_.next()) return decode(*frame);
                take_some();
            }
        } catch (const LinkError& error) {
            throw Error(fmt::format("what dtrain-launch says at {} cannot be used: {}; is it of this dtrain?",
                                    path_, error.what()));
        }
    }

  private:
    void take_some() {
        std::array<char, 16 * 1024> buffer;
        const auto got = ::read(socket_.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) return;
        if (got <= 0)
            throw Error(
                fmt::format("dtrain-launch closed its socket {} before the MPI daemon had ended; its "
                            "own messages may say why",
                            path_));
        frames_.take({buffer.data(), static_cast<std::size_t>(got)});
    }

    std::string path_;
    FileDescriptor socket_;
    FrameReader frames_{max_message};
};

/// A scheduler's remote shell (pbs_tmrsh) runs its arguments without a shell on the other node, so that one
/// is added.
[[noreturn]] void become_remote_shell(const std::vector<std::string>& arguments,
                                      const Environment& environment) {
    const auto& shell = arguments[1];
    const auto command = join(std::span(arguments).subspan(3), " ");
    const std::vector<std::string> argv{shell, arguments[2], "/bin/sh", "-c", command};
    const int error = ExecImage(argv, environment).become(shell.c_str());
    throw std::system_error(error, std::generic_category(), "cannot execute " + shell);
}

/// The index of the host: after options for ssh (plm_rsh_args).
std::size_t host_index(const std::vector<std::string>& arguments) {
    std::size_t index = 0;
    while (index < arguments.size() && arguments[index].starts_with('-')) {
        const auto& option = arguments[index];
        index += option == "-o" ? 2 : 1;
        if (option == end_of_options) break;
    }
    if (index + 1 >= arguments.size()) throw UsageError(not_by_hand);
    return index;
}

[[noreturn]] void become_ssh(std::vector<std::string> arguments, std::size_t host_at, const std::string& host,
                             const Environment& environment) {
    if (!host.empty()) arguments[host_at] = host;
    if (host_at == 0 || arguments[host_at - 1] != end_of_options)
        arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(host_at++), end_of_options);
    std::vector<std::string> argv{"ssh", "-x", "-o", "BatchMode=yes"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const auto ssh = find_in_path("ssh", environment);
    if (!ssh)
        throw UsageError(
            fmt::format("node {} has started no dtrain-launch, and there is no ssh to reach it with; start "
                        "the same command there",
                        arguments[host_at]));
    const int error = ExecImage(argv, environment).become(ssh->c_str());
    throw std::system_error(error, std::generic_category(), "cannot execute " + *ssh);
}

}  // namespace

int run_remote_shell(const std::vector<std::string>& arguments, const Environment& environment) {
    if (arguments.size() > 3 && arguments.front() == "--by") become_remote_shell(arguments, environment);
    const auto path = environment.get_or("DTRAIN_AGENT_SOCKET", "");
    if (path.empty()) throw UsageError(not_by_hand);
    const auto host_at = host_index(arguments);
    Launcher launcher(path);
    const RunOn wish{.host = arguments[host_at],
                     .command = join(std::span(arguments).subspan(host_at + 1), " ")};
    launcher.send(wish);
    for (bool is_first = true;; is_first = false) {
        const auto message = launcher.receive();
        if (const auto* ssh = std::get_if<UseSsh>(&message); ssh != nullptr && is_first)
            become_ssh(arguments, host_at, ssh->host, environment);
        if (const auto* output = std::get_if<DaemonOutput>(&message)) {
            write_all(output->to_stderr ? STDERR_FILENO : STDOUT_FILENO, output->text);
        } else if (const auto* ended = std::get_if<DaemonEnded>(&message)) {
            if (!ended->reason.empty())
                write_all(STDERR_FILENO,
                          one_line(fmt::format("node {}: {}", wish.host, ended->reason)) + "\n");
            return ended->status;
        } else {
            throw Error(
                fmt::format("dtrain-launch at {} says what it never says to a remote shell; is it of "
                            "this dtrain?",
                            path));
        }
    }
}

}  // namespace dtrain::transport
