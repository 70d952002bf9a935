// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/host.hpp"
#include "launch/jobs/control_client.hpp"
#include "launch/jobs/job_commands.hpp"
#include "launch/outcome/log_tail.hpp"

namespace dtrain::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds poll_interval{100};
constexpr std::chrono::seconds clock_skew{60};
constexpr std::chrono::seconds time_to_begin{5};  ///< then a log on another node counts as missing

/// The main rank: rank 0, or worker 0 in a parameter-server job.
int main_rank_of(const JobView& view) {
    const auto worker = std::find_if(view.ranks.begin(), view.ranks.end(), [](const RankView& rank) {
        return rank.role == "worker" && rank.number == 0;
    });
    return worker == view.ranks.end() ? 0 : worker->rank;
}

std::vector<RankView> chosen(const JobView& view, const std::optional<cluster::RankList>& wanted) {
    const int speaker = main_rank_of(view);
    std::vector<RankView> out;
    for (const auto& rank : view.ranks)
        if (wanted ? wanted->contains(rank.rank) : rank.rank == speaker) out.push_back(rank);
    if (out.empty())
        throw UsageError(fmt::format("--rank {}: the job has ranks 0 to {}", wanted->to_string(),
                                     static_cast<int>(view.ranks.size()) - 1));
    return out;
}

/// Whether the path of another node's log names the same file here, and not one that an earlier job left on
/// this machine's own disk.
bool is_shared(const std::string& log, std::int64_t job_began_us) {
    struct stat file {};
    return ::stat(log.c_str(), &file) == 0 &&
           std::chrono::seconds(file.st_mtim.tv_sec) + clock_skew >= std::chrono::microseconds(job_began_us);
}

/// Logs of ranks. Logs of other nodes may not be visible here, or not exist yet.
class RankLogs {
  public:
    RankLogs(const std::vector<RankView>& ranks, std::int64_t job_began_us)
        : job_began_us_(job_began_us), several_(ranks.size() > 1), own_host_(host_name()), unseen_(ranks) {
        poll();
    }

    /// Prints new content. False if the reader of stdout is gone.
    /// @param complete nothing will follow
    bool show(bool complete) {
        if (!unseen_.empty()) poll();
        return std::ranges::all_of(seen_, [&](LogTail& tail) { return tail.show(STDOUT_FILENO, complete); });
    }

    /// Reports once which logs are not visible. True if all are.
    bool report_unseen() {
        if (std::exchange(reported_, true)) return unseen_.empty();
        for (const auto& rank : unseen_)
            write_all(
                STDERR_FILENO,
                fmt::format("dtrain-launch: the log of rank {} is {} on {}, which cannot be seen from {}\n",
                            rank.rank, rank.log, rank.host, own_host_));
        return unseen_.empty();
    }

  private:
    void poll() {
        const auto now_seen = std::ranges::stable_partition(unseen_, [&](const RankView& rank) {
            return rank.host != own_host_ && !is_shared(rank.log, job_began_us_);
        });
        for (const auto& rank : now_seen)
            seen_.emplace_back(rank.log, rank.log_begin, several_ ? fmt::format("[{}] ", rank.rank) : "");
        unseen_.erase(now_seen.begin(), now_seen.end());
    }

    std::int64_t job_began_us_;
    bool several_;
    std::string own_host_;
    std::vector<RankView> unseen_;
    std::vector<LogTail> seen_;
    bool reported_ = false;
};

/// The job's exit status; nothing if its launcher ended without sending one.
std::optional<int> status_in(ControlClient& end) {
    const auto line = end.read_line(milliseconds{0});
    if (!line) return std::nullopt;
    const auto json = nlohmann::json::parse(*line, nullptr, false);
    if (json.is_discarded() || !json.contains("status") || !json["status"].is_number_integer())
        return std::nullopt;
    return json["status"].get<int>();
}

/// @param end has asked for the job's end
int follow(const JobRecord& record, ControlClient end, RankLogs& logs) {
    const auto began = std::chrono::steady_clock::now();
    for (;;) {
        if (!logs.show(false)) return 0;  // the reader of stdout is gone
        if (std::chrono::steady_clock::now() - began > time_to_begin) logs.report_unseen();
        pollfd sources[]{{end.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
        ::poll(sources, 2, static_cast<int>(poll_interval.count()));
        if (sources[1].revents != 0) return 0;
        if (sources[0].revents == 0 && !end.ended()) continue;
        const auto status = status_in(end);
        if (!status && !end.ended()) continue;
        logs.show(true);
        logs.report_unseen();
        if (status) return *status;
        throw Error(fmt::format("the launcher of {} is gone without telling how the job ended", record.job));
    }
}

}  // namespace

int show_logs(const JobRecord& record, const LogOptions& options) {
    ::signal(SIGPIPE, SIG_IGN);
    std::optional<ControlClient> end;  // asks first: once a launcher has told of its ranks, it may be gone
    if (options.follow) end.emplace(record, "end");
    const auto view = ask_for_view(record, "status");
    if (!view || view->ranks.empty())
        throw Error(
            record.size == 0 && is_running(record)
                ? fmt::format("job {} waits for the launchers of other nodes; it has no logs yet", record.job)
                : fmt::format("the launcher of {} does not answer; its logs are in {} on {}", record.job,
                              record.log_dir, record.host));
    RankLogs logs(chosen(*view, options.ranks), record.begin_us);
    if (end) return follow(record, std::move(*end), logs);
    const bool are_all_seen = logs.report_unseen();
    logs.show(true);
    return are_all_seen ? 0 : 1;
}

}  // namespace dtrain::launch
