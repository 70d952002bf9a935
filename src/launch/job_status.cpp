// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/job_status.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Row = std::vector<std::string>;

/// "0:42", "3:00:05", "2-03:00:05".
std::string elapsed_text(std::int64_t since_us, std::int64_t now_us) {
    const auto seconds = std::max<std::int64_t>(0, (now_us - since_us) / 1'000'000);
    const auto minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours % 24, minutes % 60, seconds % 60);
    if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes % 60, seconds % 60);
    return fmt::format("{}:{:02}", minutes, seconds % 60);
}

bool has_started(const JobStatus& job) {
    return !job.record.host.empty();
}

std::string dash_for_none(std::string text) {
    return text.empty() ? "-" : text;
}

Row row_of(const JobStatus& job, bool name_is_unique, std::int64_t now_us) {
    const auto& record = job.record;
    return {one_line(name_is_unique ? record.job : full_name(record)),
            job.state,
            dash_for_none(record.engine.empty() ? record.scheduler : record.engine),
            record.hosts.empty() ? "-" : std::to_string(record.hosts.size()),
            job.view ? fmt::format("{}/{}", job.view->up, record.size) : "-",
            job.view ? std::to_string(job.view->ended) : "-",
            has_started(job) ? elapsed_text(record.begin_us, now_us) : "-",
            dash_for_none(one_line(record.program)),
            dash_for_none(one_line(record.log_dir))};
}

std::string end_of(const RankView& rank) {
    if (rank.state != "failed" && rank.state != "stopped") return "-";
    return ExitStatus{.code = rank.code, .signal = rank.signal}.to_string();
}

OrderedJson json_of(const JobStatus& job) {
    auto json = OrderedJson::parse(to_json(job.record));
    if (job.view) json.update(OrderedJson::parse(to_json(*job.view)));
    json["name"] = full_name(job.record);
    json["state"] = job.state;
    json["why"] = job.why;
    return json;
}

std::vector<std::string> names_of(const std::vector<JobRecord>& records) {
    std::vector<std::string> names;
    for (const auto& record : records) {
        const auto same = std::count_if(records.begin(), records.end(),
                                        [&](const JobRecord& other) { return other.job == record.job; });
        names.push_back(one_line(same == 1 ? record.job : full_name(record)));
    }
    return names;
}

}  // namespace

std::string status_table(const std::vector<JobStatus>& jobs, std::int64_t now_us) {
    std::vector<Row> rows{
        {"JOB", "STATE", "ENGINE", "NODES", "UP", "ENDED", "ELAPSED", "PROGRAM", "LOG_DIR"}};
    for (const auto& job : jobs) {
        const auto same = std::count_if(jobs.begin(), jobs.end(), [&](const JobStatus& other) {
            return other.record.job == job.record.job;
        });
        rows.push_back(row_of(job, same == 1, now_us));
    }
    auto out = join(aligned(rows), "\n") + "\n";
    for (const auto& job : jobs)
        if (!job.why.empty())
            out += fmt::format("{} is {}: {}\n", one_line(job.record.job), job.state, one_line(job.why));
    return out;
}

std::string status_text(const JobStatus& job, std::int64_t now_us) {
    auto out = status_table({job}, now_us);
    const auto& record = job.record;
    if (has_started(job))
        out += fmt::format(
            "launcher: pid {} on {}{}{}\n", record.pid, record.host,
            record.scheduler.empty() ? ""
                                     : fmt::format(", {} job {}", record.scheduler, record.scheduler_job),
            job.view && job.view->restarts > 0 ? fmt::format(", started again {} times", job.view->restarts)
                                               : "");
    if (!job.view || job.view->ranks.empty()) return out;
    std::vector<Row> rows{{"RANK", "ROLE", "HOST", "PID", "STATE", "END", "LOG"}};
    for (const auto& rank : job.view->ranks)
        rows.push_back({std::to_string(rank.rank),
                        rank.role == "trainer" ? rank.role : fmt::format("{} {}", rank.role, rank.number),
                        one_line(rank.host), rank.pid == 0 ? "-" : std::to_string(rank.pid), rank.state,
                        end_of(rank), one_line(rank.log)});
    return out + "\n" + join(aligned(rows), "\n") + "\n";
}

std::string to_json(const std::vector<JobStatus>& jobs) {
    auto json = OrderedJson::array();
    for (const auto& job : jobs) json.push_back(json_of(job));
    return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::vector<JobStatus> parse_statuses(std::string_view text) {
    std::vector<JobStatus> jobs;
    try {
        for (const auto& json : OrderedJson::parse(text)) {
            const auto line = json.dump();
            const auto record = parse_record(line);
            if (!record) continue;
            jobs.push_back({.record = *record,
                            .state = json.at("state").get<std::string>(),
                            .why = json.at("why").get<std::string>(),
                            .view = parse_view(line)});
            if (auto& view = jobs.back().view) view->state = jobs.back().state;
        }
    } catch (const OrderedJson::exception&) {
        return {};  // not the output of a dtrain-launch
    }
    return jobs;
}

std::string no_such_job(std::string_view word, const std::vector<JobRecord>& known) {
    const auto names = names_of(known);
    return fmt::format("no job of yours is called {}; {}", one_line(word),
                       names.empty() ? "none is running" : "known are " + join(names, ", "));
}

std::string several_jobs(std::string_view word, const std::vector<JobRecord>& matching) {
    return fmt::format("{} jobs are called {}; name one of them: {}", matching.size(), one_line(word),
                       join(names_of(matching), ", "));
}

}  // namespace dtrain::launch
