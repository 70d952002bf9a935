// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/nccl_ras.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/interfaces.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "trace/nccl_ras.hpp"
#include "worker/held_process.hpp"

namespace dtrain::worker {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

// NCCL waits that many seconds for a process that does not answer.
constexpr std::string_view questions = "CLIENT PROTOCOL 2\nTIMEOUT 2\nSET FORMAT json\nVERBOSE STATUS\n";
// Its thread answers the first line at once, unless it is stopped: then the kernel may find another one,
// since all processes of a node listen at the same port.
constexpr milliseconds first_line_limit{1'000};
// As many jobs of a node do, too.
constexpr int max_questions = 4;
constexpr std::size_t max_ras_answer = 16 * 1024 * 1024;

bool has_thread_of_ras(pid_t pid) {
    return std::ranges::any_of(threads_of(pid), [pid](pid_t thread) {
        return read_file(fmt::format("/proc/{}/task/{}/comm", pid, thread))
            .value_or("")
            .starts_with("NCCL RAS");
    });
}

bool uses_nccl(pid_t pid) {
    // NCCL may be a part of another library.
    return read_file(fmt::format("/proc/{}/maps", pid)).value_or("").find("/libnccl.so") !=
               std::string::npos ||
           has_thread_of_ras(pid);
}

/// Its localhost is the worker's.
bool is_in_own_network(pid_t pid) {
    std::error_code error;
    const auto own = fs::read_symlink("/proc/self/ns/net", error);
    return !error && fs::read_symlink(fmt::format("/proc/{}/ns/net", pid), error) == own;
}

std::string variable_of(pid_t pid, std::string_view name) {
    for (const auto& each : split(read_file(fmt::format("/proc/{}/environ", pid)).value_or(""), '\0'))
        if (each.starts_with(name) && each.substr(name.size()).starts_with('='))
            return each.substr(name.size() + 1);
    return {};
}

/// As the process itself sees it: the last of "NSpid: 4242 17".
int own_pid_of(pid_t pid) {
    const auto status = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
    const auto field = field_of(status, "NSpid:");
    return parse_int(std::string_view(field).substr(field.find_last_of(" \t") + 1)).value_or(pid);
}

/// Of `own`, the addresses of this machine; NCCL listens at one of them.
std::vector<std::string> addresses_for(const std::string& host, const std::set<std::string>& own) {
    if (host == "localhost") return {"127.0.0.1", "::1"};
    std::array<unsigned char, sizeof(in6_addr)> binary{};
    const bool is_address = ::inet_pton(AF_INET, host.c_str(), binary.data()) == 1 ||
                            ::inet_pton(AF_INET6, host.c_str(), binary.data()) == 1;
    if (!is_address) return {own.begin(), own.end()};  // asking a name server may take long
    const bool is_own = own.contains(host) || host.starts_with("127.") || host == "0.0.0.0" || host == "::";
    return is_own ? std::vector{host} : std::vector<std::string>();
}

/// Has begun to connect; invalid if nobody listens there.
FileDescriptor connection_to(const std::string& address, int port) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    v4.sin_port = v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    const bool is_v4 = ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
    if (!is_v4 && ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) return {};
    FileDescriptor connection(
        ::socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* const where =
        is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
    const socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
    const bool is_open =
        connection.valid() && (::connect(connection.get(), where, size) == 0 || errno == EINPROGRESS);
    return is_open ? std::move(connection) : FileDescriptor();
}

bool becomes(short event, int fd, Clock::time_point until) {
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
        if (left <= 0) return false;
        pollfd polled{fd, event, 0};
        const auto ready = ::poll(&polled, 1, static_cast<int>(left));
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

enum class RasOutcome {
    nobody_listens,
    no_answer,  ///< in time, or too long a one
    answer,
};

RasOutcome ask_ras(const std::string& address, int port, Clock::time_point until, std::string& answer) {
    const auto connection = connection_to(address, port);
    if (!connection.valid()) return RasOutcome::nobody_listens;
    const auto first_until = std::min(until, Clock::now() + first_line_limit);
    if (!becomes(POLLOUT, connection.get(), first_until)) return RasOutcome::no_answer;
    if (::send(connection.get(), questions.data(), questions.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(questions.size()))
        return errno == ECONNREFUSED ? RasOutcome::nobody_listens : RasOutcome::no_answer;
    answer.clear();
    std::array<char, 65536> piece;
    while (becomes(POLLIN, connection.get(), answer.empty() ? first_until : until)) {
        const auto got = ::read(connection.get(), piece.data(), piece.size());
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) return RasOutcome::no_answer;
        if (got == 0) return RasOutcome::answer;
        answer.append(piece.data(), static_cast<std::size_t>(got));
        if (answer.size() > max_ras_answer) return RasOutcome::no_answer;
    }
    return RasOutcome::no_answer;
}

}  // namespace

std::optional<RasAddress> parse_ras_address(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = parse_int(text.substr(colon + 1));
    auto host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    host = host.substr(0, host.find('%'));
    constexpr int max_port = 65535;
    if (!port || *port <= 0 || *port > max_port || host.empty()) return std::nullopt;
    return RasAddress{.host = std::string(host), .port = *port};
}

std::optional<trace::NcclView> nccl_view(const std::vector<pid_t>& processes, milliseconds limit) {
    const auto until = Clock::now() + limit;
    std::set<int> pids;
    std::optional<RasAddress> where;
    for (const auto pid : processes) {
        if (!uses_nccl(pid) || !is_in_own_network(pid) || variable_of(pid, "NCCL_RAS_ENABLE") == "0")
            continue;
        pids.insert(own_pid_of(pid));
        const auto named = variable_of(pid, "NCCL_RAS_ADDR");
        if (!where) where = named.empty() ? RasAddress() : parse_ras_address(named);
    }
    if (!where) return std::nullopt;
    const auto own = own_addresses();
    const auto is_own = [&](const trace::NcclProcess& process) {
        return pids.contains(process.pid) && own.contains(process.host);
    };
    std::optional<trace::NcclView> view;
    for (const auto& address : addresses_for(where->host, own)) {
        std::string answer;
        for (int asked = 0; asked < max_questions; ++asked) {
            const auto outcome = ask_ras(address, where->port, until, answer);
            if (outcome == RasOutcome::nobody_listens) break;
            if (outcome == RasOutcome::no_answer) continue;
            if (auto parsed = trace::read_nccl_ras(answer, is_own)) view = std::move(parsed);
            if (view && view->self.pid != 0) return view;
        }
    }
    return view;
}

}  // namespace dtrain::worker
