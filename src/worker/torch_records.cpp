// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/torch_records.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/paths_in.hpp"
#include "base/text.hpp"
#include "worker/held_process.hpp"

namespace dtrain::worker {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

constexpr const char* suffix = ".torch";
constexpr std::size_t max_asked = 16;
constexpr std::size_t max_answer = 4 * 1024 * 1024;

/// Of a process that can be asked: <pid>-<thread>.torch
struct TorchSocket {
    pid_t pid = 0;
    pid_t thread = 0;  ///< the one that answers
    fs::path path = {};
};

std::vector<TorchSocket> torch_sockets(const fs::path& operations) {
    std::vector<TorchSocket> sockets;
    for (const auto& path : paths_in(operations)) {
        if (path.extension() != suffix) continue;
        const auto numbers = split(path.stem().string(), '-');
        const auto pid = parse_int(numbers.front());
        const auto thread = parse_int(numbers.back());
        if (pid && thread && numbers.size() == 2) sockets.push_back({*pid, *thread, path});
    }
    return sockets;
}

struct Asked {
    pid_t pid = 0;
    FileDescriptor connection = {};
    std::string answer = {};
    bool is_complete = false;
};

FileDescriptor connect_to(const std::string& path) {
    sockaddr_un address{};
    if (path.size() >= sizeof address.sun_path) return {};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, static_cast<char*>(address.sun_path));
    FileDescriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!connection.valid() ||
        ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return {};
    return connection;
}

std::vector<Asked> connections_to(const fs::path& operations, const std::vector<pid_t>& processes) {
    const auto sockets = torch_sockets(operations);
    std::vector<Asked> asked;
    for (const auto pid : processes) {
        const auto socket = std::ranges::find(sockets, pid, &TorchSocket::pid);
        if (socket == sockets.end()) continue;
        if (cannot_answer(pid)) continue;
        if (asked.size() == max_asked) break;
        auto connection = connect_to(socket->path);
        if (connection.valid()) asked.push_back({.pid = pid, .connection = std::move(connection)});
    }
    return asked;
}

/// Closes the connection at the end of the answer, or if it is too long.
void take_piece(Asked& from) {
    std::array<char, 65536> piece;
    const auto got = ::read(from.connection.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got > 0) from.answer.append(piece.data(), static_cast<std::size_t>(got));
    if (got > 0 && from.answer.size() <= max_answer) return;
    from.is_complete = got == 0;
    from.connection.reset();
}

void take_answers(std::vector<Asked>& asked, Clock::time_point until) {
    for (;;) {
        std::vector<pollfd> sources;
        for (const auto& each : asked) sources.push_back({each.connection.get(), POLLIN, 0});
        const bool waits =
            std::ranges::any_of(asked, [](const auto& each) { return each.connection.valid(); });
        const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
        if (!waits || left <= 0) return;
        if (::poll(sources.data(), sources.size(), static_cast<int>(left)) < 0 && errno != EINTR) return;
        for (std::size_t index = 0; index < asked.size(); ++index)
            if (sources[index].revents != 0) take_piece(asked[index]);
    }
}

}  // namespace

ThreadTimes times_of_torch_records(const fs::path& operations) {
    ThreadTimes total;
    if (operations.empty()) return total;
    for (const auto& socket : torch_sockets(operations)) {
        const auto times = times_of(socket.pid, socket.thread);
        total.on_processor += times.on_processor;
        total.ready += times.ready;
    }
    return total;
}

std::map<pid_t, trace::TorchRecord> torch_records(const fs::path& operations,
                                                  const std::vector<pid_t>& processes, milliseconds limit) {
    std::map<pid_t, trace::TorchRecord> records;
    if (operations.empty()) return records;
    const auto until = Clock::now() + limit;
    auto asked = connections_to(operations, processes);
    take_answers(asked, until);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    for (const auto& each : asked)
        if (auto record = each.is_complete ? trace::read_torch_record(each.answer, now) : std::nullopt)
            records[each.pid] = std::move(*record);
    return records;
}

}  // namespace dtrain::worker
