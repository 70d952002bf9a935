// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_failure.hpp"

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "base/error_file.hpp"
#include "comm/failure/deadline.hpp"
#include "comm/nccl/nccl_state.hpp"

namespace dtrain::comm {

std::exception_ptr nccl_failure(const NcclWait& wait, const Absence& absence, const std::string& own_reason,
                                const std::string& afterwards) {
    if (absence.failed.empty()) {
        const auto late = timeout(wait.operation, wait.number, wait.waited, absence.missing, wait.rank);
        return std::make_exception_ptr(CommunicatorTimeout(late.what() + afterwards, late.operation(),
                                                           late.number(), late.waited(), late.missing()));
    }
    std::vector<MissingRank> ranks;
    std::string words;
    for (const auto& failed : absence.failed) {
        const bool own = failed.rank == wait.rank && !own_reason.empty();
        ranks.push_back({failed.rank, own ? own_reason : std::string(nccl_text(failed.code))});
        words += fmt::format("{}rank {} ({})", words.empty() ? "" : ", ", failed.rank, ranks.back().why);
    }
    return std::make_exception_ptr(NcclError(
        fmt::format("{} number {}: NCCL failed on {}{}", wait.operation, wait.number, words, afterwards),
        std::move(ranks)));
}

void report_nccl_failure(const std::exception_ptr& failure, std::span<const int> job_ranks) {
    try {
        std::rethrow_exception(failure);
    } catch (const CommunicatorTimeout& timeout) {
        reported(timeout, job_ranks);
    } catch (const NcclError& error) {
        report_error(error_of(error));
    }
}

}  // namespace dtrain::comm
