// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/told_cause.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "launch/log_text.hpp"

namespace dtrain::launch {
namespace {

using How = RankEnd::How;

// Whoever speaks for all ranks is among the first.
constexpr std::size_t looked_at = 256;

bool is_server(const RankEnd& end) {
    return end.facts.role == server_role;
}

class Tellers {
  public:
    Tellers(const FailureReport& report, const std::function<std::string(int)>& log_tail)
        : log_tail_(log_tail) {
        const auto code = report.failed.front().status.code;
        for (const auto* ends : {&report.failed, &report.stopped})
            for (const auto& end : *ends)
                if ((end.how == How::exited || end.exited_while_stopped()) && end.status.signal == 0 &&
                    end.status.code == code)
                    ends_.push_back(&end);
        std::ranges::stable_partition(ends_, [](const auto* end) { return is_server(*end); });
    }

    std::optional<int> server() const {
        return first([&](const RankEnd& end) {
            return is_server(end) && server_complaint(log_tail_(end.rank), end.facts.number);
        });
    }

    std::optional<int> any() const {
        return first([&](const RankEnd& end) { return native_complaint(log_tail_(end.rank)).has_value(); });
    }

  private:
    template <class Tells>
    std::optional<int> first(const Tells& tells) const {
        const auto end = ends_.begin() + static_cast<std::ptrdiff_t>(std::min(ends_.size(), looked_at));
        const auto found = std::find_if(ends_.begin(), end, [&](const auto* rank) { return tells(*rank); });
        return found == end ? std::nullopt : std::optional((*found)->rank);
    }

    const std::function<std::string(int)>& log_tail_;
    std::vector<const RankEnd*> ends_;
};

std::optional<int> who_tells(const FailureReport& report,
                             const std::function<std::string(int rank)>& log_tail) {
    const auto& cause = report.failed.front();
    if (cause.how != How::exited || cause.status.signal != 0) return std::nullopt;
    const auto log = log_tail(cause.rank);
    if (exception_line(log)) return std::nullopt;
    const Tellers tellers(report, log_tail);
    if (const auto server = tellers.server()) return server;
    return native_complaint(log) ? std::nullopt : tellers.any();
}

}  // namespace

void put_teller_first(FailureReport& report, const std::function<std::string(int rank)>& log_tail) {
    if (report.failed.empty()) return;
    const auto teller = who_tells(report, log_tail);
    if (!teller) return;
    for (auto* ends : {&report.failed, &report.stopped}) {
        const auto found = std::ranges::find(*ends, *teller, &RankEnd::rank);
        if (found == ends->end()) continue;
        auto cause = *found;
        cause.how = How::exited;
        ends->erase(found);
        report.failed.insert(report.failed.begin(), std::move(cause));
        break;
    }
    const auto& cause = report.failed.front();
    for (auto& end : report.failed)
        end.followed = end.rank != cause.rank && end.how == How::exited && end.status.signal == 0 &&
                       end.status.code == cause.status.code && !exception_line(log_tail(end.rank));
}

}  // namespace dtrain::launch
