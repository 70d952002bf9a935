// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/job_families.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/subprocess.hpp"

namespace dtrain::launch {
namespace {

using scrape::Family;
using scrape::Labels;

constexpr std::array<std::string_view, 5> job_states{"waiting", "following", "starting", "running",
                                                     "stopping"};
constexpr std::array<std::string_view, 6> rank_states{"starting", "running", "idle",
                                                      "done",     "failed",  "stopped"};

double in_seconds(std::int64_t us) {
    return static_cast<double>(us) / 1e6;
}

Family family_of_one(const char* name, Family::Type type, const char* help, double value,
                     Labels labels = {}) {
    Family family{.name = name, .type = type, .help = help, .samples = {}};
    family.add(std::move(labels), value);
    return family;
}

Family ranks_by_state(const std::vector<MeasuredRank>& ranks) {
    Family family{.name = "dtrain_job_ranks", .help = "Ranks of this start, by what they do.", .samples = {}};
    for (const auto state : rank_states)
        family.add({{"state", std::string(state)}},
                   static_cast<double>(std::ranges::count(
                       ranks, state, [](const auto& rank) -> std::string_view { return rank.view.state; })));
    return family;
}

Family state_of_job(const std::string& now) {
    Family family{.name = "dtrain_job_state", .help = "1 for what the launcher does now.", .samples = {}};
    for (const auto state : job_states) family.add({{"state", std::string(state)}}, state == now ? 1 : 0);
    return family;
}

Labels label_of(int rank) {
    return {{"rank", std::to_string(rank)}};
}

/// Adds a sample for each rank that has a value.
template <class Value>
void add_of_ranks(std::vector<Family>& families, const char* name, const char* help,
                  const std::vector<MeasuredRank>& ranks, const Value& value) {
    Family family{.name = name, .help = help, .samples = {}};
    for (const auto& rank : ranks)
        if (const std::optional<double> known = value(rank)) family.add(label_of(rank.view.rank), *known);
    if (!family.samples.empty()) families.push_back(std::move(family));
}

std::optional<double> seconds_if_known(std::int64_t us) {
    return us > 0 ? std::optional(in_seconds(us)) : std::nullopt;
}

/// Nothing for a rank that runs, or whose program could not be started.
std::optional<double> exit_status_of(const RankView& rank) {
    const ExitStatus status{.code = rank.code, .signal = rank.signal};
    if (status.success() && rank.state != "done") return std::nullopt;
    return status.shell_status();
}

void add_ranks(std::vector<Family>& families, const JobSnapshot& job, const WrittenAt& written_at) {
    if (job.ranks.empty()) return;
    Family info{.name = "dtrain_rank_info", .help = "Where a rank is and what it is for.", .samples = {}};
    for (const auto& [view, has_log, started, heartbeat] : job.ranks)
        info.add({{"rank", std::to_string(view.rank)},
                  {"role", view.role},
                  {"number", std::to_string(view.number)},
                  {"host", view.host}},
                 1);
    families.push_back(std::move(info));
    add_of_ranks(families, "dtrain_rank_up", "Whether the rank's program runs.", job.ranks,
                 [](const MeasuredRank& rank) {
                     return rank.view.state == "running" || rank.view.state == "idle" ? 1.0 : 0.0;
                 });
    add_of_ranks(families, "dtrain_rank_start_time_seconds", "When the rank's program started, since 1970.",
                 job.ranks, [](const MeasuredRank& rank) { return seconds_if_known(rank.started_us); });
    add_of_ranks(families, "dtrain_rank_exit_status",
                 "Of a rank that has ended: its exit status, or 128 and the number of a signal.", job.ranks,
                 [](const MeasuredRank& rank) { return exit_status_of(rank.view); });
    add_of_ranks(families, "dtrain_rank_log_written_time_seconds",
                 "When something was written last into the log of a rank of the launcher's node, since 1970.",
                 job.ranks, [&](const MeasuredRank& rank) {
                     return rank.has_local_log ? written_at(rank.view.log) : std::nullopt;
                 });
    add_of_ranks(families, "dtrain_rank_heartbeat_time_seconds",
                 "When the launcher heard last from the first rank of each node of several, since 1970.",
                 job.ranks, [](const MeasuredRank& rank) { return seconds_if_known(rank.heartbeat_us); });
}

void add_failures(std::vector<Family>& families, const JobSnapshot& job) {
    if (!job.failures.empty()) {
        Family family{
            .name = "dtrain_rank_failures_total",
            .type = Family::Type::counter,
            .help = "How often a rank failed by itself, over all starts; the host is that of the last time.",
            .samples = {}};
        for (const auto& [rank, failures] : job.failures)
            family.add({{"rank", std::to_string(rank)}, {"host", failures.host}},
                       static_cast<double>(failures.count));
        families.push_back(std::move(family));
    }
    if (!job.gpu_errors.empty()) {
        Family family{.name = "dtrain_node_gpu_errors_total",
                      .type = Family::Type::counter,
                      .help = "Errors of GPUs that a node's kernel has logged, each once in a start.",
                      .samples = {}};
        for (const auto& [host, count] : job.gpu_errors)
            family.add({{"host", host}}, static_cast<double>(count));
        families.push_back(std::move(family));
    }
}

}  // namespace

std::vector<Family> families_of(const JobSnapshot& job, std::int64_t now_us, const WrittenAt& written_at) {
    constexpr auto gauge = Family::Type::gauge;
    const auto& identity = job.identity;
    std::vector<Family> families{
        family_of_one("dtrain_job_info", gauge, "What runs, and by which launcher.", 1,
                      {{"name", identity.name},
                       {"program", identity.program},
                       {"engine", identity.engine},
                       {"host", identity.host},
                       {"version", identity.version}}),
        state_of_job(job.state),
        family_of_one("dtrain_job_start_time_seconds", gauge, "When the launcher began, since 1970.",
                      in_seconds(identity.began_us)),
        family_of_one("dtrain_job_uptime_seconds", gauge, "How long the launcher has been there.",
                      in_seconds(now_us - identity.began_us)),
        family_of_one("dtrain_job_restarts_total", Family::Type::counter,
                      "How often the job was started again.", job.restarts),
        family_of_one("dtrain_job_max_restarts", gauge, "How often it may be started again after failures.",
                      identity.max_restarts)};
    if (job.attempt_began_us > 0)
        families.push_back(family_of_one("dtrain_job_attempt_uptime_seconds", gauge,
                                         "Time since the job was started, or started again.",
                                         in_seconds(now_us - job.attempt_began_us)));
    if (!job.ranks.empty()) families.push_back(ranks_by_state(job.ranks));
    add_ranks(families, job, written_at);
    add_failures(families, job);
    return families;
}

}  // namespace dtrain::launch
