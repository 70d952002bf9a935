// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/deadline.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error_file.hpp"

namespace dtrain::comm {
namespace {

constexpr int otherwise = 1800;  // seconds: longer than saving and testing take on one rank

std::string as_text(const std::vector<MissingRank>& missing) {
    std::string words;
    for (std::size_t i = 0; i < std::min(missing.size(), max_named_peers); ++i)
        words += fmt::format("{}rank {} ({})", i == 0 ? "" : ", ", missing[i].rank, missing[i].why);
    if (missing.size() > max_named_peers)
        words += fmt::format(" and {} more", missing.size() - max_named_peers);
    return words.empty() ? "messages that did not arrive, though all ranks have come" : words;
}

}  // namespace

std::chrono::seconds deadline_of(const Environment& environment) {
    return std::chrono::seconds(environment.get_int("DTRAIN_COMM_TIMEOUT").value_or(otherwise));
}

CommunicatorTimeout timeout(std::string_view operation, std::uint64_t number,
                            std::chrono::duration<double> waited, std::vector<MissingRank> missing,
                            int rank) {
    const bool itself = std::any_of(missing.begin(), missing.end(),
                                    [rank](const MissingRank& other) { return other.rank == rank; });
    const auto message =
        itself ? fmt::format("{} number {}: this rank, {}, came when the others had given up waiting for it",
                             operation, number, rank)
               : fmt::format("{} number {} waited {:.1f} s for {}", operation, number, waited.count(),
                             as_text(missing));
    return {message, std::string(operation), number, waited, std::move(missing)};
}

CommunicatorTimeout timeout_of_any(std::string_view operation, std::uint64_t number,
                                   std::chrono::duration<double> waited, std::vector<MissingRank> missing) {
    const auto message = fmt::format("{} after number {} waited {:.1f} s for a message from any rank{}{}",
                                     operation, number, waited.count(), missing.empty() ? "" : ", of them ",
                                     missing.empty() ? "" : as_text(missing));
    return {message, std::string(operation), number, waited, std::move(missing)};
}

RankError rank_error_of(const CommunicatorTimeout& timeout, std::span<const int> job_ranks) {
    auto error = error_of(timeout);
    auto& operation = error.operation.emplace(
        RankError::Operation{timeout.operation(), timeout.number(), timeout.waited().count(), {}});
    const auto& missing = timeout.missing();
    for (const auto& other : std::span(missing).first(std::min(missing.size(), max_named_peers))) {
        const auto number = static_cast<std::size_t>(other.rank);
        operation.missing.push_back({number < job_ranks.size() ? job_ranks[number] : other.rank, other.why});
    }
    return error;
}

CommunicatorTimeout reported(CommunicatorTimeout timeout, std::span<const int> job_ranks) {
    report_error(rank_error_of(timeout, job_ranks));
    return timeout;
}

}  // namespace dtrain::comm
