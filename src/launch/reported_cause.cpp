// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/reported_cause.hpp"

#include <algorithm>
#include <csignal>
#include <optional>
#include <ranges>
#include <vector>

#include "launch/log_text.hpp"

namespace dtrain::launch {
namespace {

using How = RankEnd::How;

// The rank that reports for all is expected among the first ones.
constexpr std::size_t max_inspected = 256;

bool is_server(const RankEnd& end) {
    return end.info.role == server_role;
}

/// A rank that reported the cause may still be waiting in MPI_Finalize when another rank's end stops all
/// ranks.
bool was_stopped_before_it_exited(const RankEnd& end) {
    return end.how == How::stopped_by_us && end.status.signal == SIGTERM;
}

class Reporters {
  public:
    /// @param said dtrain's error in the log of the first rank
    Reporters(const FailureReport& report, const std::function<std::string(int)>& log_tail,
              const std::optional<std::string>& said)
        : log_tail_(log_tail), said_(said) {
        const auto code = report.failed.front().status.code;
        for (const auto* ends : {&report.failed, &report.stopped})
            for (const auto& end : *ends)
                if ((end.how == How::exited || end.exited_while_stopped()) && end.status.signal == 0 &&
                    end.status.code == code)
                    ends_.push_back(&end);
        std::ranges::stable_partition(ends_, [](const auto* end) { return is_server(*end); });
        for (const auto& end : report.stopped)
            if (was_stopped_before_it_exited(end)) stopped_.push_back(&end);
    }

    /// A stopped server counts if the first rank repeats its error.
    std::optional<int> server() const {
        const auto complaint = [&](const RankEnd& end) {
            return is_server(end) ? server_complaint(log_tail_(end.rank), end.info.number) : std::nullopt;
        };
        const auto told = first(ends_, [&](const RankEnd& end) { return complaint(end).has_value(); });
        if (told || !said_) return told;
        return first(stopped_, [&](const RankEnd& end) { return complaint(end) == said_; });
    }

    std::optional<int> any() const {
        const auto tells = [&](const RankEnd& end) {
            return native_complaint(log_tail_(end.rank)).has_value();
        };
        const auto told = first(ends_, tells);
        return told ? told : first(stopped_, tells);
    }

  private:
    using Ends = std::vector<const RankEnd*>;

    template <class Tells>
    static std::optional<int> first(const Ends& ends, const Tells& tells) {
        for (const auto* end : ends | std::views::take(max_inspected))
            if (tells(*end)) return end->rank;
        return std::nullopt;
    }

    const std::function<std::string(int)>& log_tail_;
    const std::optional<std::string>& said_;
    Ends ends_;     ///< ranks with the exit code of the first one, servers before others
    Ends stopped_;  ///< ranks that were stopped before they exited
};

std::optional<int> who_reports(const FailureReport& report,
                               const std::function<std::string(int rank)>& log_tail) {
    const auto& cause = report.failed.front();
    if (cause.how != How::exited || cause.status.signal != 0) return std::nullopt;
    const auto log = log_tail(cause.rank);
    if (exception_line(log)) return std::nullopt;
    const auto said = native_complaint(log);
    const Reporters reporters(report, log_tail, said);
    if (const auto server = reporters.server()) return server;
    return said ? std::nullopt : reporters.any();
}

}  // namespace

void put_reporter_first(FailureReport& report, const std::function<std::string(int rank)>& log_tail) {
    if (report.failed.empty()) return;
    const auto teller = who_reports(report, log_tail);
    if (!teller) return;
    const auto code = report.failed.front().status.code;
    for (auto* ends : {&report.failed, &report.stopped}) {
        const auto found = std::ranges::find(*ends, *teller, &RankEnd::rank);
        if (found == ends->end()) continue;
        auto cause = *found;
        cause.told = cause.status.signal != 0;
        if (!cause.told) cause.how = How::exited;
        ends->erase(found);
        report.failed.insert(report.failed.begin(), std::move(cause));
        break;
    }
    const auto& cause = report.failed.front();
    for (auto& end : report.failed)
        end.followed = end.rank != cause.rank && end.how == How::exited && end.status.signal == 0 &&
                       end.status.code == code && !exception_line(log_tail(end.rank));
}

}  // namespace dtrain::launch
