// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/reported_cause.hpp"

#include <algorithm>
#include <csignal>
#include <memory>
#include <vector>

#include "launch/outcome/log_text.hpp"

namespace dtrain::launch {
namespace {

using How = RankEnd::How;

bool is_server(const RankEnd& end) {
    return end.info.role == server_role;
}

/// A rank that reported the cause may still be waiting in MPI_Finalize when another rank's end stops all
/// ranks. Of some nobody sees the end (SIGKILL).
bool was_stopped_before_it_exited(const RankEnd& end) {
    return end.how == How::stopped_by_us && end.status.signal != 0;
}

bool reports_own_failure(const RankEnd& end) {
    return is_server(end) && end.error && end.error->server == end.info.number;
}

bool reports_for_all(const RankEnd& end) {
    return end.error && end.error->for_all;
}

class Reporters {
  public:
    explicit Reporters(const FailureReport& report) : said_(report.failed.front().error) {
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

    /// A stopped server counts if its error is repeated by the first rank, or by the one that reports for
    /// all.
    const RankEnd* server() const {
        if (const auto* found = first(ends_, reports_own_failure)) return found;
        const auto* const reporter = for_all();
        const auto said = said_ || reporter == nullptr ? said_ : reporter->error;
        return first(stopped_, [&](const RankEnd& end) {
            return said && reports_own_failure(end) && end.error->message == said->message;
        });
    }

    const RankEnd* for_all() const {
        const auto* const found = first(ends_, reports_for_all);
        return found != nullptr ? found : first(stopped_, reports_for_all);
    }

  private:
    using Ends = std::vector<const RankEnd*>;

    template <class Reports>
    static const RankEnd* first(const Ends& ends, const Reports& reports) {
        const auto found = std::ranges::find_if(ends, [&](const auto* end) { return reports(*end); });
        return found == ends.end() ? nullptr : *found;
    }

    std::shared_ptr<const RankError> said_;  ///< by the first rank
    Ends ends_;                              ///< ranks with its exit code, servers before others
    Ends stopped_;                           ///< ranks that were stopped before they exited
};

bool has_exception(const RankEnd& end, const std::function<std::string(int rank)>& log_tail) {
    if (end.error && end.error->source == RankError::Source::torch) return true;
    return exception_line(log_tail(end.rank)).has_value();
}

/// Null: nobody.
const RankEnd* who_reports(const FailureReport& report,
                           const std::function<std::string(int rank)>& log_tail) {
    const auto& cause = report.failed.front();
    if (cause.how != How::exited || cause.status.signal != 0 || has_exception(cause, log_tail))
        return nullptr;
    const Reporters reporters(report);
    if (const auto* server = reporters.server()) return server;
    return cause.error ? nullptr : reporters.for_all();
}

}  // namespace

void put_reporter_first(FailureReport& report, const std::function<std::string(int rank)>& log_tail) {
    if (report.failed.empty()) return;
    const auto* const reporter = who_reports(report, log_tail);
    if (reporter == nullptr) return;
    const int rank = reporter->rank;
    const auto code = report.failed.front().status.code;
    for (auto* ends : {&report.failed, &report.stopped}) {
        const auto found = std::ranges::find(*ends, rank, &RankEnd::rank);
        if (found == ends->end()) continue;
        auto cause = *found;
        cause.reported = cause.status.signal != 0;
        if (!cause.reported) cause.how = How::exited;
        ends->erase(found);
        report.failed.insert(report.failed.begin(), std::move(cause));
        break;
    }
    const auto& cause = report.failed.front();
    for (auto& end : report.failed)
        end.followed = end.rank != cause.rank && end.how == How::exited && end.status.signal == 0 &&
                       end.status.code == code && !has_exception(end, log_tail);
}

}  // namespace dtrain::launch
