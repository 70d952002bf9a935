// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/report.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include <dtrain/cpuset.hpp>

#include "base/text.hpp"
#include "launch/backend/registry.hpp"
#include "launch/outcome/log_text.hpp"
#include "launch/outcome/meaning.hpp"
#include "launch/outcome/reported_cause.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;
using How = RankEnd::How;

constexpr int status_of_missing_library = 127;  // a shell's status, and the system loader's

How how_of(const Event& event, bool by_us) {
    switch (event.kind) {
        case Event::Kind::stopped:
            return by_us ? How::stopped_by_us : How::stopped_by_others;
        case Event::Kind::issue:
        case Event::Kind::port_taken:
            return How::issue;
        default:
            return How::exited;
    }
}

/// A killed worker reports nothing; mpirun then stops the other ranks, which do report that. Neither does one
/// whose program hung so that no signal ended it.
bool any_rank_vanished(const JobState& job, const Ending& ending, const std::vector<Event>& failures) {
    return ending.asked_to_stop_by == 0 && !ending.hang && !job.silent().empty() &&
           (failures.empty() || failures.front().kind == Event::Kind::stopped);
}

/// What @record keeps of an exception may have the traceback of another process in it.
std::string exception_of(const RankError& error) {
    const auto first_line = error.message.substr(0, error.message.find('\n'));
    return one_line(exception_line(error.message).value_or(first_line), max_exception);
}

/// Combines what the parts of a launch know of each rank.
class Examination {
  public:
    Examination(const JobState& job, const Ending& ending, const std::vector<RankInfo>& ranks,
                const std::function<std::string(int)>& log_tail)
        : job_(job),
          ending_(ending),
          said_(backend_named(ending.engine).diagnose(ending.engine_text)),
          ranks_(ranks),
          log_tail_(log_tail) {}

    FailureReport result() {
        note_roles();
        report_.stopped_after_failure = job_.stopped_after_failure();
        report_.ending = ending_;
        report_.lost_node = lost_node();
        const bool done = ending_.asked_to_stop_by == 0 && job_.all_done();
        if (!done) sort_failures();
        for (const int rank : job_.stopped()) report_.stopped.push_back(end_of(rank));
        if (done) return std::move(report_);

        note_scheduler();
        put_consequences_last();
        put_reporter_first(report_, log_tail_);
        if (!report_.failed.empty()) {
            describe_cause();
            add_errors_of_gpus();
        }
        find_exceptions();
        find_missing_library();
        find_missing_ranks();
        decide_status();
        return std::move(report_);
    }

  private:
    std::string lost_node() const { return ending_.lost_node.empty() ? said_.lost_node : ending_.lost_node; }

    void note_roles() {
        for (const auto& rank : ranks_) {
            const auto known = std::find_if(report_.roles.begin(), report_.roles.end(),
                                            [&](const auto& role) { return role.name == rank.role; });
            if (known == report_.roles.end())
                report_.roles.push_back({rank.role, 1});
            else
                ++known->size;
        }
    }

    RankEnd end_of(int rank) const {
        RankEnd out{.rank = rank, .info = ranks_.at(static_cast<std::size_t>(rank)), .how = How::vanished};
        const auto& start = job_.start_of(rank);
        const auto& end = job_.end_of(rank);
        if (start) out.pid = start->pid;
        for (const auto& event : {start, end})
            if (event && !event->host.empty()) out.info.host = event->host;
        if (!end) return out;
        out.how = how_of(*end, job_.was_stopped_by_us(rank));
        out.status = {.code = end->code, .signal = end->signal};
        out.detail = end->text;
        if (auto error = cluster::error_of(*end)) out.error = std::make_shared<RankError>(*std::move(error));
        if (start) out.seconds = static_cast<double>(end->time_us - start->time_us) / 1e6;
        return out;
    }

    bool nothing_was_started() const {
        for (int rank = 0; rank < job_.size(); ++rank)
            if (job_.start_of(rank) || job_.end_of(rank)) return false;
        return true;
    }

    /// mpirun 4.1 names a node as in the hostfile, 5 by the machine's own name without the domain.
    bool is_on(int rank, const std::string& node) const {
        const auto& start = job_.start_of(rank);
        const auto& info = ranks_.at(static_cast<std::size_t>(rank));
        return info.node == node || info.backend_name == node ||
               (start && (start->host == node || start->host.starts_with(node + ".")));
    }

    std::vector<int> ranks_of_lost_node(const std::vector<int>& silent) const {
        std::vector<int> out;
        if (report_.lost_node.empty()) return out;
        std::copy_if(silent.begin(), silent.end(), std::back_inserter(out),
                     [&](int rank) { return is_on(rank, report_.lost_node); });
        return out;
    }

    std::vector<int> vanished_ranks() {
        auto silent = job_.silent();
        if (auto ranks = ranks_of_lost_node(silent); !ranks.empty()) {
            report_.lost_node = ranks_.at(static_cast<std::size_t>(ranks.front())).node;
            return ranks;
        }
        report_.lost_node.clear();
        if (!said_.died) return silent;
        std::vector<int> both;
        std::copy_if(silent.begin(), silent.end(), std::back_inserter(both),
                     [&](int rank) { return said_.died->contains(rank); });
        return both.empty() ? silent : both;
    }

    /// A rank that ended with status 0 but made mpirun end the others; only if nothing else has failed.
    std::optional<int> who_left_mpi(const std::vector<Event>& failures) const {
        const auto named = said_.left_mpi;
        if (ending_.asked_to_stop_by != 0 || !named || *named < 0 || *named >= job_.size())
            return std::nullopt;
        const auto stopped = [](const Event& failure) { return failure.kind == Event::Kind::stopped; };
        const auto& end = job_.end_of(*named);
        const bool thinks_so = end && end->kind == Event::Kind::done;
        return thinks_so && std::ranges::all_of(failures, stopped) ? named : std::nullopt;
    }

    /// Ranks that others stopped after a failure count as stopped, not as failed.
    void sort_failures() {
        const auto failures = job_.failures();
        const auto left_mpi = who_left_mpi(failures);
        const bool vanished = !left_mpi && any_rank_vanished(job_, ending_, failures);
        bool cause_is_known = left_mpi || vanished;
        if (left_mpi) report_.failed.push_back(end_of(*left_mpi));
        if (vanished) {
            for (const int rank : vanished_ranks()) report_.failed.push_back(end_of(rank));
            if (!said_.died && nothing_was_started())
                report_.not_started = said_.not_started.value_or(ending_.machine_info.empty()
                                                                     ? ending_.engine + " could not start it"
                                                                     : ending_.machine_info);
        }
        for (const auto& failure : failures) {
            const bool swept_away = failure.kind == Event::Kind::stopped && cause_is_known;
            (swept_away ? report_.stopped : report_.failed).push_back(end_of(failure.rank));
            cause_is_known = cause_is_known || failure.kind != Event::Kind::stopped;
        }
        if (ending_.asked_to_stop_by != 0) return;
        std::unordered_set<int> reported;
        for (const auto& end : report_.failed) reported.insert(end.rank);
        for (const int rank : job_.silent())
            if (!reported.contains(rank)) report_.silent.push_back(end_of(rank));
    }

    /// A step is also cancelled when srun ends the remaining ranks after a failure, which does not count.
    void note_scheduler() {
        const auto swept_away = [](const RankEnd& end) { return end.how == How::stopped_by_others; };
        if (report_.failed.empty() || !std::ranges::all_of(report_.failed, swept_away)) return;
        if (!blame_lost_node()) report_.cancelled = said_.cancelled.value_or("");
    }

    /// Of a node that is lost some ranks may still tell that they are stopped; so do those of other nodes
    /// then. Returns whether ranks of the lost node are among the failed ones, which they alone are then.
    bool blame_lost_node() {
        if (report_.lost_node.empty()) return false;
        const auto others =
            std::stable_partition(report_.failed.begin(), report_.failed.end(),
                                  [this](const RankEnd& end) { return is_on(end.rank, report_.lost_node); });
        if (others == report_.failed.begin()) return false;
        report_.stopped.insert(report_.stopped.end(), std::make_move_iterator(others),
                               std::make_move_iterator(report_.failed.end()));
        report_.failed.erase(others, report_.failed.end());
        for (auto& end : report_.failed) end.how = How::vanished;
        report_.lost_node = ranks_.at(static_cast<std::size_t>(report_.failed.front().rank)).node;
        return true;
    }

    EndedBy what_ended(const RankEnd& end, std::string_view log) const {
        const auto told = ended_by(log);
        // A rank's Open MPI leaves its last message to mpirun, which shows one for all ranks with the same.
        const bool by_open_mpi =
            end.how == How::exited && end.status == ExitStatus{.code = exit_code_of_open_mpi};
        return told == EndedBy::itself && by_open_mpi ? ended_by(ending_.engine_text) : told;
    }

    bool waited_for_killed_rank(const RankEnd& end) const {
        if (!end.error || !end.error->operation) return false;
        return std::ranges::any_of(end.error->operation->missing, [&](const auto& peer) {
            const auto other = std::ranges::find(report_.failed, peer.rank, &RankEnd::rank);
            return other != report_.failed.end() && other->rank != end.rank && other->how == How::exited &&
                   other->status.signal != 0;
        });
    }

    void put_consequences_last() {
        if (report_.failed.size() < 2) return;
        for (auto& end : report_.failed)
            if (end.how != How::vanished)
                end.ended_by =
                    waited_for_killed_rank(end) ? EndedBy::killed_rank : what_ended(end, log_tail_(end.rank));
        const auto by_itself = [](const auto& end) { return !end.is_consequence(); };
        if (std::none_of(report_.failed.begin(), report_.failed.end(), by_itself))
            for (auto& end : report_.failed) end.ended_by = EndedBy::itself;
        std::stable_partition(report_.failed.begin(), report_.failed.end(), by_itself);
    }

    void describe_cause() {
        const auto& cause = report_.failed.front();
        const auto tail = log_tail_(cause.rank);
        report_.last_lines = last_lines(tail, shown_log_lines);
        if (cause.how == How::vanished) {
            if (cause.info.host == ending_.machine && !ending_.machine_info.empty() &&
                report_.not_started.empty())
                report_.hints.push_back(ending_.machine_info);
            return;
        }
        if (cause.reported) return;
        if (cause.how == How::exited && cause.status == ExitStatus{})
            report_.hints.emplace_back(
                "it ended before MPI_Init or without MPI_Finalize, and mpirun ends the other ranks then: "
                "look for an exit or a return that other ranks do not come to");
        if (const auto meaning = usual_meaning(cause.status)) report_.hints.push_back(*meaning);
        if (cause.how == How::exited && !cause.detail.empty()) report_.hints.push_back(cause.detail);
        const auto by = what_ended(cause, tail);
        if (by == EndedBy::sigterm)
            report_.hints.emplace_back("its log says that it got SIGTERM: look for who sent it, and why");
        if (by == EndedBy::lost_connection)
            report_.hints.emplace_back(
                "Open MPI says that it lost a connection to another rank: look for a rank that ended "
                "or a network that failed");
    }

    /// A GPU error on another node is often why the cause timed out; those on its own node are in its own
    /// report.
    void add_errors_of_gpus() {
        const auto& cause = report_.failed.front();
        std::size_t described = 0;
        for (const auto& error : job_.gpu_errors()) {
            if (error.host == cause.info.host && cause.detail.find(error.text) != std::string::npos) continue;
            if (++described > described_ranks) break;
            const auto ranks = ranks_on(error.host);
            report_.hints.push_back(fmt::format("on {}, where {} {} ran, {}", error.host,
                                                plural(static_cast<std::size_t>(ranks.count()), "rank"),
                                                ranks.to_string(), error.text));
        }
    }

    /// The ranks that reported this host.
    CpuSet ranks_on(const std::string& host) const {
        CpuSet ranks;
        for (int rank = 0; rank < job_.size(); ++rank)
            if (const auto& start = job_.start_of(rank); start && start->host == host) ranks.add(rank);
        return ranks;
    }

    void find_exceptions() {
        const auto exited = [](const RankEnd& end) {
            return (end.how == How::exited && end.status.signal == 0) || end.exited_while_stopped();
        };
        for (auto* ends : {&report_.failed, &report_.stopped}) {
            std::size_t looked_at = 0;
            for (auto& end : *ends) {
                if (end.error && end.error->source == RankError::Source::torch)
                    end.exception = exception_of(*end.error);
                else if (exited(end) && looked_at++ <= described_ranks)
                    end.exception = exception_line(log_tail_(end.rank)).value_or("");
            }
        }
    }

    void find_missing_library() {
        if (report_.failed.empty()) return;
        auto& cause = report_.failed.front();
        if (cause.error || cause.how != How::exited || cause.status.code != status_of_missing_library) return;
        if (auto complaint = loader_complaint(log_tail_(cause.rank)))
            cause.error = std::make_shared<RankError>(RankError{.message = *std::move(complaint)});
    }

    void find_missing_ranks() {
        if (report_.failed.empty()) return;
        const auto& cause = report_.failed.front();
        if (!cause.error || !cause.error->operation) return;
        for (const auto& peer : cause.error->operation->missing)
            if (peer.rank >= 0 && peer.rank < job_.size() && peer.rank != cause.rank)
                report_.waited_for.push_back(end_of(peer.rank));
    }

    /// A cause that was stopped before it exited comes first, followed by the rank that ended first.
    ExitStatus status_of_failure() const {
        const auto& end = report_.failed[report_.failed.front().reported ? 1 : 0];
        return end.how == How::vanished ? ending_.engine_status : end.status;
    }

    void decide_status() {
        report_.outcome = FailureReport::Outcome::failed;
        if (ending_.asked_to_stop_by != 0) {
            report_.outcome = FailureReport::Outcome::stopped;
            report_.status = 128 + ending_.asked_to_stop_by;
        } else if (report_.cause() != nullptr) {
            report_.status = status_of_failure().shell_status();
        } else if (!ending_.stop_reason.empty()) {
            report_.status = ending_.stop_status;
        }
        if (report_.status == 0) report_.status = 1;
    }

    const JobState& job_;
    const Ending& ending_;
    const BackendDiagnosis said_;
    const std::vector<RankInfo>& ranks_;
    const std::function<std::string(int)>& log_tail_;
    FailureReport report_;
};

RankError redacted(RankError error, const KnownSecrets& secrets) {
    error.message = secrets.hidden_in(error.message);
    if (error.operation)
        for (auto& peer : error.operation->missing) peer.why = secrets.hidden_in(peer.why);
    return error;
}

}  // namespace

FailureReport examine(const JobState& job, const Ending& ending, const std::vector<RankInfo>& ranks,
                      const std::function<std::string(int rank)>& log_tail) {
    return Examination(job, ending, ranks, log_tail).result();
}

FailureReport redacted(FailureReport report, const KnownSecrets& secrets) {
    for (auto* text : {&report.ending.stop_reason, &report.last_lines, &report.ending.engine_text})
        *text = secrets.hidden_in(*text);
    for (auto* lines : {&report.hints, &report.ending.stop_details})
        for (auto& line : *lines) line = secrets.hidden_in(line);
    const auto hide_in = [&](trace::HangDiagnosis& hang) {
        hang.culprit = secrets.hidden_in(hang.culprit);
        for (auto& line : hang.waiting) line = secrets.hidden_in(line);
    };
    if (auto& hang = report.ending.hang) hide_in(*hang);
    for (auto& hang : report.ending.reported_hangs) {
        hang.text = secrets.hidden_in(hang.text);
        hide_in(hang.diagnosis);
    }
    for (auto* ends : {&report.failed, &report.stopped, &report.silent})
        for (auto& end : *ends) {
            end.detail = secrets.hidden_in(end.detail);
            end.exception = secrets.hidden_in(end.exception);
            if (end.error) end.error = std::make_shared<RankError>(redacted(*end.error, secrets));
        }
    return report;
}

}  // namespace dtrain::launch
