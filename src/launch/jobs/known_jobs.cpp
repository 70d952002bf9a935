// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/known_jobs.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>

#include <dtrain/error.hpp>

#include "base/background.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "launch/jobs/control_client.hpp"
#include "launch/jobs/elsewhere.hpp"
#include "scheduler/registry.hpp"

namespace dtrain::launch {
namespace {

using std::chrono::seconds;

constexpr seconds machine_limit{30};

std::filesystem::path folder_of(const Environment& environment) {
    const auto folder = records_folder(environment);
    if (!folder)
        throw UsageError(
            "there is no HOME to look for the records of jobs in; name their folder with DTRAIN_JOBS_DIR");
    return *folder;
}

bool is_submitted_only(const JobRecord& record) {
    return record.host.empty();
}

void leave_out_started(std::vector<JobRecord>& records) {
    const auto all = records;
    std::erase_if(records, [&](const JobRecord& submitted) {
        return is_submitted_only(submitted) &&
               std::any_of(all.begin(), all.end(), [&](const JobRecord& other) {
                   return !is_submitted_only(other) && other.scheduler_job == submitted.scheduler_job;
               });
    });
}

/// "12", "12.server", "12_3".
bool may_be_number(const std::string& arg) {
    return !arg.empty() && std::isdigit(static_cast<unsigned char>(arg.front())) != 0;
}

}  // namespace

KnownJobs::KnownJobs(const Environment& environment)
    : environment_(environment), folder_(folder_of(environment)), records_(read_records(folder_)) {
    leave_out_started(records_);
}

JobRecord KnownJobs::find(const std::string& arg) const {
    std::vector<JobRecord> matching;
    std::copy_if(records_.begin(), records_.end(), std::back_inserter(matching),
                 [&](const JobRecord& record) { return is_called(record, arg); });
    if (matching.size() > 1) throw UsageError(several_jobs(arg, matching));
    if (!matching.empty()) return matching.front();
    if (auto queued = in_a_queue(arg)) return *queued;
    throw UsageError(no_such_job(arg, records_));
}

std::optional<JobRecord> KnownJobs::in_a_queue(const std::string& arg) const {
    if (!may_be_number(arg)) return std::nullopt;
    for (const auto* each : scheduler::schedulers()) {
        const auto jobs = scheduler::ask_queue(each->name(), {arg}, environment_);
        if (!jobs || jobs->empty() || jobs->front().state == scheduler::QueuedJob::State::ended) continue;
        JobRecord record;
        record.job = arg;
        record.scheduler = each->name();
        record.scheduler_job = jobs->front().number;
        return record;
    }
    return std::nullopt;
}

JobStatus KnownJobs::examine(const JobRecord& record, bool with_ranks) const {
    if (is_submitted_only(record)) return examine_queued(record);
    if (record.host != host_name()) {
        auto statuses = examine_remotely(record, {"status", "--json", "--here", full_name(record)});
        return statuses.front();
    }
    if (!is_running(record))
        return {.record = record, .state = "lost", .why = "its launcher is gone without an end"};
    auto view = ask_for_view(record, with_ranks ? "status" : "summary");
    if (view) return {.record = record, .state = view->state, .why = "", .view = view};
    if (record.size == 0)
        return {.record = record, .state = "waiting", .why = "for the launchers of its other nodes"};
    return {.record = record, .state = "silent", .why = "its launcher runs and does not answer"};
}

JobStatus KnownJobs::examine_queued(const JobRecord& record) const {
    const auto jobs = scheduler::ask_queue(record.scheduler, {record.scheduler_job}, environment_);
    if (!jobs)
        return {.record = record, .state = "unreachable", .why = record.scheduler + " does not answer here"};
    if (jobs->empty() || jobs->front().state == scheduler::QueuedJob::State::ended)
        return {.record = record, .state = "ended", .why = "it is in no queue any more"};
    const auto& job = jobs->front();
    if (job.state == scheduler::QueuedJob::State::pending)
        return {
            .record = record, .state = "pending", .why = job.why.empty() ? "no reason is given" : job.why};
    return {.record = record,
            .state = "queued",
            .why = "it was started" + (job.host.empty() ? "" : " on " + job.host) +
                   ", and has no launcher that can be seen here"};
}

std::vector<JobStatus> KnownJobs::examine_remotely(const JobRecord& record,
                                                   const std::vector<std::string>& args) const {
    const Way way(record, folder_, environment_);
    auto obstacle = way.obstacle();
    if (obstacle.empty()) {
        std::vector<std::string> command{this_executable().string()};
        command.insert(command.end(), args.begin(), args.end());
        const auto answer =
            run_and_capture({.argv = way.command(command), .environment = environment_}, machine_limit);
        auto jobs = parse_statuses(answer.out);
        if (!jobs.empty()) return jobs;
        obstacle = "asked on " + record.host + ": " + one_line(trimmed(answer.err), 300);
    }
    return {{.record = record, .state = "unreachable", .why = obstacle}};
}

std::vector<JobStatus> KnownJobs::examine_all() const {
    const auto own_host = host_name();
    std::map<std::string, Background<std::vector<JobStatus>>> others;
    for (const auto& record : records_)
        if (!is_submitted_only(record) && record.host != own_host && !others.contains(record.host))
            others[record.host] = Background<std::vector<JobStatus>>::in_thread([this, &record] {
                return examine_remotely(record, {"status", "--json", "--here"});
            });
    std::vector<JobStatus> seen;
    for (auto& [host, answer] : others) {
        auto jobs = answer.get();
        seen.insert(seen.end(), jobs.begin(), jobs.end());
    }
    std::vector<JobStatus> out;
    for (const auto& record : records_) {
        if (is_submitted_only(record) || record.host == own_host) {
            out.push_back(examine(record, false));
            continue;
        }
        const auto found = std::find_if(seen.begin(), seen.end(), [&](const JobStatus& job) {
            return full_name(job.record) == full_name(record);
        });
        if (found != seen.end()) {
            out.push_back(*found);
            continue;
        }
        const auto of_host = std::find_if(seen.begin(), seen.end(), [&](const JobStatus& job) {
            return job.record.host == record.host && job.state == "unreachable";
        });
        if (of_host != seen.end())
            out.push_back({.record = record, .state = "unreachable", .why = of_host->why});
    }
    return out;
}

std::vector<JobStatus> KnownJobs::examine_own() const {
    std::vector<JobStatus> out;
    for (const auto& record : records_)
        if (record.host == host_name()) out.push_back(examine(record, false));
    return out;
}

void KnownJobs::forget(const std::vector<JobStatus>& jobs) const {
    for (const auto& job : jobs)
        if (job.state == "ended" || (job.state == "lost" && job.record.host == host_name()))
            remove_traces(folder_, job.record);
}

}  // namespace dtrain::launch
