// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/start_watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error_file.hpp"
#include "base/signal_free_thread.hpp"
#include "base/text.hpp"

namespace dtrain::comm {
namespace {

constexpr std::chrono::seconds min_deadline{30};

// How long before the deadline to look for missing ranks. When one rank exits, the launcher ends others:
// those should not be reported as missing.
constexpr std::chrono::seconds looked_before{2};

/// A call like bind() or connect(), with an abstract socket name.
template <class Call>
bool with_name(const Call& call, int socket, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto length = std::min(name.size(), sizeof(address.sun_path) - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);
    const auto bytes = offsetof(sockaddr_un, sun_path) + 1 + length;
    return call(socket, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(bytes)) == 0;
}

FileDescriptor made_socket() {
    return FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

}  // namespace

StartMark::StartMark(const Environment& environment)
    : job_(environment.get_or("PMIX_NAMESPACE", "")),
      local_rank_(static_cast<int>(environment.get_int("OMPI_COMM_WORLD_LOCAL_RANK").value_or(0))),
      local_size_(static_cast<int>(environment.get_int("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(0))),
      size_(static_cast<int>(environment.get_int("OMPI_COMM_WORLD_SIZE").value_or(0))) {
    if (job_.empty()) local_size_ = 0;
    if (local_size_ == 0) return;
    socket_ = made_socket();
    if (!socket_.valid() || !with_name(::bind, socket_.get(), name_of(local_rank_))) local_size_ = 0;
}

std::string StartMark::name_of(int local_rank) const {
    return fmt::format("dtrain-start.{}.{}.{}", ::getuid(), job_, local_rank);
}

std::vector<int> StartMark::missing() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < local_size_; ++rank) {
        const auto asks = made_socket();
        if (!with_name(::connect, asks.get(), name_of(rank))) ranks.push_back(rank);
    }
    return ranks;
}

RankError StartMark::error_after(std::chrono::duration<double> waited) const {
    constexpr const char* absent = "has not come to it";
    RankError::Operation start{.name = "MPI_Init", .number = 1, .seconds = waited.count(), .missing = {}};
    std::vector<std::string> whom;
    for (const int rank : missing()) {
        const bool is_whole_job = size_ == local_size_;
        whom.push_back(fmt::format("{} {}{} ({})", is_whole_job ? "rank" : "local rank", rank,
                                   is_whole_job ? "" : " of this node", absent));
        if (is_whole_job && start.missing.size() < max_named_peers) start.missing.push_back({rank, absent});
    }
    if (whom.empty())
        whom.emplace_back(local_size_ == 0       ? "other ranks"
                          : size_ == local_size_ ? "a rank that hangs in it"
                                                 : "ranks of other nodes");
    return {.kind = "dtrain::CommunicatorTimeout",
            .message = fmt::format("{} number {} waited {:.1f} s for {}", start.name, start.number,
                                   start.seconds, join(whom, ", ")),
            .operation = std::move(start)};
}

StartWatch::StartWatch(const Environment& environment, std::chrono::seconds deadline) {
    static const StartMark mark(environment);  // one per process, never removed: others may still be starting
    const auto given = environment.get_int("DTRAIN_MPI_START_TIMEOUT");
    if (given) deadline = std::chrono::seconds(*given);
    if (deadline.count() == 0) return;
    thread_ = signal_free_thread<std::jthread>(
        [limit = given ? deadline : std::max(deadline, min_deadline)](const std::stop_token& started) {
            std::mutex mutex;
            std::unique_lock lock(mutex);
            std::condition_variable_any changes;
            const auto wait = [&](std::chrono::seconds time) {
                changes.wait_for(lock, started, time, [] { return false; });
            };
            wait(std::max(limit - looked_before, std::chrono::seconds(0)));
            const auto error = mark.error_after(limit);
            wait(std::min(limit, looked_before));
            if (started.stop_requested()) return;
            std::fprintf(stderr, "dtrain: %s\n", error.message.c_str());
            report_error(error);
            std::_Exit(1);
        });
}

}  // namespace dtrain::comm
