// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/side_channel.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <thread>

#include <fmt/format.h>

#include "comm/failure/leaving.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/node/announced.hpp"

namespace dtrain::comm {
namespace {

constexpr int channel_tag = 1;
constexpr std::size_t numbers_per_rank = 7;
// Waiting ranks check the channel several times a second.
constexpr std::chrono::milliseconds answers_within{1500};

std::vector<std::uint64_t> written(const NodeBoard& board) {
    std::vector<std::uint64_t> numbers;
    for (int rank = 0; rank < board.size(); ++rank) {
        const auto at = board.whereabouts(rank);
        numbers.insert(numbers.end(),
                       {at.announced, at.finished, at.steps, static_cast<std::uint64_t>(at.operation),
                        at.waits_in, static_cast<std::uint64_t>(at.waits_for), at.failure});
    }
    return numbers;
}

NodeBoard::Whereabouts read(const std::vector<std::uint64_t>& numbers, std::size_t rank) {
    const auto* at = numbers.data() + rank * numbers_per_rank;
    return {.announced = at[0],
            .finished = at[1],
            .steps = at[2],
            .operation = static_cast<Operation>(at[3]),
            .waits_in = at[4],
            .waits_for = static_cast<Operation>(at[5]),
            .failure = at[6]};
}

/// True for a rank that has not entered the operation, or has entered it and is doing something else.
bool is_away(const NodeBoard::Whereabouts& at, std::uint64_t number) {
    return at.announced < number || (at.finished < number && at.waits_in == 0);
}

}  // namespace

SideChannel::SideChannel(MPI_Comm parent, const NodeMap& map) {
    if (map.nodes() == 1) return;
    check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

SideChannel::~SideChannel() {
    if (communicator_ != MPI_COMM_NULL && !leaves_alone()) MPI_Comm_free(&communicator_);
}

bool SideChannel::hears_alarm() {
    if (communicator_ == MPI_COMM_NULL) return false;
    for (int arrived = 1; arrived != 0;) {
        MPI_Status status;
        check(MPI_Iprobe(MPI_ANY_SOURCE, channel_tag, communicator_, &arrived, &status), "MPI_Iprobe");
        if (arrived == 0) break;
        int length = 0;
        check(MPI_Get_count(&status, MPI_UINT64_T, &length), "MPI_Get_count");
        std::vector<std::uint64_t> message(static_cast<std::size_t>(length));
        check(MPI_Recv(message.data(), length, MPI_UINT64_T, status.MPI_SOURCE, channel_tag, communicator_,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
        const auto node = static_cast<int>(message.front());
        message.erase(message.begin());
        heard_[node] = std::move(message);
    }
    return !heard_.empty();
}

void SideChannel::send(const NodeMap& map, const std::vector<std::uint64_t>& board) const {
    // Short messages are sent without further MPI calls; as nobody waits for them, their memory is kept.
    static std::list<std::vector<std::uint64_t>> sent;
    auto& message = sent.emplace_back(board);
    message.insert(message.begin(), static_cast<std::uint64_t>(map.node));
    for (std::size_t rank = 0; rank < map.node_of.size(); ++rank) {
        if (map.node_of[rank] == map.node) continue;
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_UINT64_T,
                        static_cast<int>(rank), channel_tag, communicator_, &request),
              "MPI_Isend");
        MPI_Request_free(&request);
    }
}

std::vector<MissingRank> SideChannel::missing(const NodeMap& map, const NodeBoard& board,
                                              std::uint64_t number) {
    const bool speaks = board.raise_alarm(number);
    if (communicator_ != MPI_COMM_NULL) {
        if (speaks) send(map, written(board));
        const auto end = std::chrono::steady_clock::now() + answers_within;
        while (std::chrono::steady_clock::now() < end) {
            hears_alarm();
            if (static_cast<int>(heard_.size()) + 1 == map.nodes()) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    heard_[map.node] = written(board);
    std::vector<MissingRank> away;
    std::vector<MissingRank> behind;  // used only if no rank is away: these may wait for those
    for (int node = 0; node < map.nodes(); ++node) {
        const auto& ranks = map.ranks_of[static_cast<std::size_t>(node)];
        const auto found = heard_.find(node);
        if (found == heard_.end()) {
            for (const int rank : ranks) away.push_back({rank, "did not answer"});
            continue;
        }
        std::uint64_t max_steps = 0;
        for (std::size_t i = 0; i < ranks.size(); ++i)
            max_steps = std::max(max_steps, read(found->second, i).steps);
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const auto at = read(found->second, i);
            if (is_away(at, number))
                away.push_back({ranks[i], why_missing(at, number)});
            else if (at.finished < number && at.steps < max_steps)
                behind.push_back({ranks[i], why_missing(at, number)});
        }
    }
    auto& missing = away.empty() ? behind : away;
    std::sort(missing.begin(), missing.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    return missing;
}

std::optional<NodeBoard::Whereabouts> SideChannel::who_waits(const NodeBoard& board) const {
    std::optional<NodeBoard::Whereabouts> waits;
    const auto inspect = [&](const std::vector<std::uint64_t>& numbers) {
        for (std::size_t rank = 0; rank < numbers.size() / numbers_per_rank; ++rank) {
            const auto at = read(numbers, rank);
            if (at.waits_in != 0 && (!waits || at.waits_in == board.alarm())) waits = at;
        }
    };
    inspect(written(board));
    if (!waits)
        for (const auto& [node, numbers] : heard_) inspect(numbers);
    return waits;
}

std::map<int, std::uint64_t> SideChannel::failures(const NodeMap& map) const {
    std::map<int, std::uint64_t> codes;
    for (const auto& [node, board] : heard_) {
        const auto& ranks = map.ranks_of[static_cast<std::size_t>(node)];
        for (std::size_t i = 0; i < ranks.size(); ++i)
            if (const auto code = read(board, i).failure; code != 0) codes[ranks[i]] = code;
    }
    return codes;
}

std::string why_missing(const NodeBoard::Whereabouts& rank, std::uint64_t number) {
    if (is_message(rank.waits_for) || rank.waits_for == Operation::subset)
        if (rank.waits_in != 0) return fmt::format("in {}", name_of(rank.waits_for));
    if (rank.announced >= number)
        return rank.waits_in == 0 ? "has started it and is in no operation now" : "stands still in it";
    if (rank.announced == 0) return "in no operation; it has called none yet";
    if (rank.waits_in != 0) return fmt::format("in number {}, {}", rank.waits_in, name_of(rank.waits_for));
    return fmt::format("in no operation; its last one was number {}, {}", rank.announced,
                       name_of(rank.operation));
}

}  // namespace dtrain::comm
