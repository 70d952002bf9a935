// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/torch_records.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_tree.hpp"

namespace dtrain::worker {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t max_asked = 16;
constexpr std::size_t max_answer = 4 * 1024 * 1024;

struct Asked {
    pid_t pid = 0;
    FileDescriptor connection = {};
    std::string answer = {};
    bool is_complete = false;
};

bool is_stopped(pid_t pid) {
    const auto stat = stat_of(pid);
    return stat && stat->state == 'T';
}

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

std::vector<Asked> ask(const std::filesystem::path& operations, const std::vector<pid_t>& processes) {
    std::vector<Asked> asked;
    for (const auto pid : processes) {
        if (asked.size() == max_asked) break;
        if (is_stopped(pid)) continue;
        auto connection = connect_to(operations / (std::to_string(pid) + trace::torch_socket_suffix));
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

std::map<pid_t, trace::TorchRecord> torch_records(const std::filesystem::path& operations,
                                                  const std::vector<pid_t>& processes, milliseconds limit) {
    std::map<pid_t, trace::TorchRecord> records;
    if (operations.empty()) return records;
    const auto until = Clock::now() + limit;
    auto asked = ask(operations, processes);
    take_answers(asked, until);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    for (const auto& each : asked)
        if (auto record = each.is_complete ? trace::read_torch_record(each.answer, now) : std::nullopt)
            records[each.pid] = std::move(*record);
    return records;
}

}  // namespace dtrain::worker
