// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "launch/jobs/job_commands.hpp"
#include "scheduler/registry.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds time_to_cancel{5};
constexpr seconds scheduler_limit{30};

void wait_until(const std::function<bool()>& ended, milliseconds between, const std::string& job) {
    const auto explain_at = Clock::now() + time_to_cancel;
    bool explained = false;
    while (!ended()) {
        if (!explained && Clock::now() >= explain_at) {
            explained = true;
            write_all(
                STDERR_FILENO,
                fmt::format("dtrain-launch: {} is being stopped; dtrain-launch cancel --now {} kills it\n",
                            job, job));
        }
        std::this_thread::sleep_for(between);
    }
}

bool comes_true(const std::function<bool()>& condition, milliseconds limit) {
    const auto deadline = Clock::now() + limit;
    while (!condition()) {
        if (Clock::now() >= deadline) return false;
        std::this_thread::sleep_for(milliseconds{200});
    }
    return true;
}

void send(const JobRecord& record, int signal) {
    if (::kill(record.pid, signal) == 0 || errno == ESRCH) return;
    throw std::system_error(errno, std::generic_category(),
                            fmt::format("cannot signal the launcher of {}, pid {}", record.job, record.pid));
}

bool left_the_queue(const JobRecord& record, const Environment& environment) {
    const auto found = scheduler::ask_queue(record.scheduler, {record.scheduler_job}, environment);
    return found && (found->empty() || found->front().state == scheduler::QueuedJob::State::ended);
}

void say_ended(const JobRecord& record) {
    write_all(STDOUT_FILENO, fmt::format("job {} has ended\n", record.job));
}

}  // namespace

void signal_running(const JobRecord& record, const KnownJobs& jobs, bool now) {
    if (!is_running(record)) {
        remove_traces(jobs.folder(), record);
        throw Error(fmt::format("job {} is gone already", full_name(record)));
    }
    // Like pressing Ctrl-C twice, but with different signals, since two equal ones may be merged.
    if (now) send(record, SIGINT);
    send(record, SIGTERM);
}

int wait_until_ended(const JobRecord& record, const KnownJobs& jobs) {
    wait_until([&] { return !is_running(record); }, milliseconds{20}, record.job);
    remove_traces(jobs.folder(), record);  // in case the launcher could not remove them itself
    say_ended(record);
    return 0;
}

int cancel_by_step(const JobRecord& record, const KnownJobs& jobs, const std::vector<std::string>& command,
                   const Environment& environment) {
    const auto answer = run_and_capture({.argv = command, .environment = environment}, scheduler_limit);
    const auto file = record_file(jobs.folder(), record);
    const auto has_ended = [&] {
        return !std::filesystem::exists(file) || left_the_queue(record, environment);
    };
    // The step may have been killed together with the job, which is a success.
    if (!answer.status.success() && !comes_true(has_ended, time_to_cancel))
        throw Error(fmt::format("job {} cannot be cancelled: {}", record.job, one_line(trimmed(answer.err))));
    wait_until(has_ended, milliseconds{500}, record.job);
    std::filesystem::remove(file);
    say_ended(record);
    return 0;
}

int cancel_in_queue(const JobRecord& record, const KnownJobs& jobs, bool now,
                    const Environment& environment) {
    const auto status = jobs.examine(record, false);
    if (status.state == "unreachable") throw Error(fmt::format("job {}: {}", record.job, status.why));
    if (status.state == "ended") {
        remove_traces(jobs.folder(), record);
        throw Error(fmt::format("job {} is gone already", record.job));
    }
    const bool gently = status.state != "pending" && !now;
    const auto* scheduler = scheduler::find(record.scheduler);
    if (scheduler == nullptr)
        throw Error(fmt::format("job {} is in the queue of {}, which this dtrain does not know", record.job,
                                record.scheduler));
    const auto answer = run_and_capture(
        {.argv = scheduler->cancel_command(record.scheduler_job, gently), .environment = environment},
        scheduler_limit);
    if (!answer.status.success())
        throw Error(fmt::format("job {} cannot be cancelled: {}", record.job, one_line(trimmed(answer.err))));
    wait_until([&] { return jobs.examine(record, false).state == "ended"; }, milliseconds{500}, record.job);
    remove_traces(jobs.folder(), record);
    say_ended(record);
    return 0;
}

}  // namespace dtrain::launch
