// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/running_job.hpp"

#include <exception>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/host.hpp"
#include "base/log.hpp"
#include "base/process_tree.hpp"
#include "base/wall_clock.hpp"
#include "scheduler/registry.hpp"

namespace dtrain::launch {

RunningJob::RunningJob(const Environment& environment, JobRecord record)
    : folder_(records_folder(environment)), record_(std::move(record)) {
    record_.host = host_name();
    record_.pid = ::getpid();
    record_.started = stat_of(record_.pid).value_or(ProcessStat{}).start_time;
    record_.begin_us = now_us();
    record_.pid_scope = own_pid_space();
    if (!folder_) return;
    remove_dead_records(*folder_, record_.host);
    try {
        control_.emplace();
        record_.socket = control_->path();
    } catch (const std::exception& error) {
        log_debug("this job answers no questions: {}", error.what());
    }
    write();
}

RunningJob::~RunningJob() {
    std::error_code ignored;
    if (folder_) std::filesystem::remove(record_file(*folder_, record_), ignored);
}

void RunningJob::describe(const Plan& plan, std::vector<PlannedRank> ranks, int restarts) {
    if (control_) control_->describe(std::move(ranks), restarts);
    record_.log_dir = plan.log_dir;
    record_.size = plan.size();
    record_.hosts = plan.hosts();
    write();
}

void RunningJob::finish(int status) {
    if (control_) control_->finish(status);
}

void RunningJob::write() {
    if (!folder_) return;
    try {
        write_record(*folder_, record_);
    } catch (const std::exception& error) {
        log_debug("dtrain-launch status will not find this job: {}", error.what());
    }
}

JobRecord record_in(const Environment& environment) {
    JobRecord record;
    if (const auto* own = scheduler::of_this_job(environment)) {
        record.scheduler = own->name();
        record.scheduler_job = own->job_id(environment);
    }
    return record;
}

}  // namespace dtrain::launch
