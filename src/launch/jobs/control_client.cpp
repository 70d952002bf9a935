// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/control_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>

#include "transport/unix_socket.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds launcher_limit{3000};
constexpr std::size_t max_line = 16UL * 1024 * 1024;  // some 80,000 ranks

}  // namespace

ControlClient::ControlClient(const JobRecord& record, const std::string& question) {
    if (record.socket.empty()) return;
    try {
        socket_ = transport::connect_to_path(record.socket, launcher_limit);
    } catch (const std::system_error&) {
        return;  // the job is ending, or its launcher stopped
    }
    const auto line = question + "\n";
    if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) ended_ = true;
}

std::optional<std::string> ControlClient::read_line(milliseconds limit) {
    const auto deadline = Clock::now() + limit;
    std::size_t searched = 0;
    for (;;) {
        if (const auto end = unfinished_line_.find('\n', searched); end != std::string::npos) {
            auto line = unfinished_line_.substr(0, end);
            unfinished_line_.erase(0, end + 1);
            return line;
        }
        searched = unfinished_line_.size();
        if (ended()) return std::nullopt;
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
        pollfd readable{socket_.get(), POLLIN, 0};
        const int ready = ::poll(&readable, 1, static_cast<int>(std::max<long>(left, 0)));
        if (ready == 0) return std::nullopt;
        if (ready < 0) continue;
        std::array<char, 65536> buffer;
        const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (got > 0) unfinished_line_.append(buffer.data(), static_cast<std::size_t>(got));
        if (got == 0 || (got < 0 && errno != EINTR) || unfinished_line_.size() > max_line) ended_ = true;
        if (left <= 0 && unfinished_line_.find('\n', searched) == std::string::npos) return std::nullopt;
    }
}

std::optional<JobView> ask_for_view(const JobRecord& record, const std::string& question) {
    ControlClient client(record, question);
    const auto line = client.read_line(launcher_limit);
    return line ? parse_view(*line) : std::nullopt;
}

}  // namespace dtrain::launch
