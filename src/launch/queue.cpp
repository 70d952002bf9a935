// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/queue.hpp"

#include <algorithm>
#include <chrono>

#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::seconds answer_limit{20};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

QueuedJob::State state_of_slurm(std::string_view state) {
    if (is_one_of(state,
                  {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"}))
        return QueuedJob::State::pending;
    return is_one_of(state, {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING",
                             "STAGE_OUT", "RESIZING"})
               ? QueuedJob::State::running
               : QueuedJob::State::ended;
}

QueuedJob::State state_of_pbs(std::string_view state) {
    if (is_one_of(state, {"Q", "H", "W", "T", "M"})) return QueuedJob::State::pending;
    return is_one_of(state, {"R", "E", "B", "S", "U"}) ? QueuedJob::State::running : QueuedJob::State::ended;
}

}  // namespace

std::vector<std::string> squeue_command() {
    return {"squeue", "--me", "--noheader", "--format=%i|%T|%B|%r"};
}

std::vector<std::string> qstat_command(const std::vector<std::string>& numbers) {
    std::vector<std::string> words{"qstat", "-f"};
    words.insert(words.end(), numbers.begin(), numbers.end());
    return words;
}

std::vector<QueuedJob> parse_squeue(std::string_view output) {
    std::vector<QueuedJob> jobs;
    for (const auto& line : split(output, '\n')) {
        const auto fields = split(line, '|');
        if (fields.size() < 4) continue;
        QueuedJob job{.number = std::string(trimmed(fields[0])), .state = state_of_slurm(trimmed(fields[1]))};
        if (job.state == QueuedJob::State::pending && fields[3] != "None") job.why = fields[3];
        if (job.state == QueuedJob::State::running && fields[2] != "n/a") job.host = fields[2];
        jobs.push_back(std::move(job));
    }
    return jobs;
}

std::vector<QueuedJob> parse_qstat(std::string_view output) {
    // Job Id: 12.server
    //     job_state = Q
    //     comment = Not Running: Insufficient amount of resource: ncpus
    // Lines have at most 80 characters; longer ones continue on the next line, after a tab.
    std::vector<QueuedJob> jobs;
    std::vector<std::string> lines;
    for (const auto& part : split(output, '\n'))
        if (!lines.empty() && lines.back().starts_with("    ") && part.starts_with('\t'))
            lines.back() += part.substr(1);
        else
            lines.push_back(part);
    for (const auto& whole_line : lines) {
        const auto line = trimmed(whole_line);
        constexpr std::string_view begin = "Job Id:";
        if (line.starts_with(begin)) {
            jobs.push_back({.number = std::string(trimmed(line.substr(begin.size())))});
            continue;
        }
        const auto equals = line.find(" = ");
        if (jobs.empty() || equals == std::string_view::npos) continue;
        const auto name = line.substr(0, equals);
        const auto value = trimmed(line.substr(equals + 3));
        auto& job = jobs.back();
        if (name == "job_state") job.state = state_of_pbs(value);
        if (name == "comment") job.why = value;
        if (name == "exec_host") job.host = value.substr(0, value.find_first_of("/+"));
    }
    for (auto& job : jobs)
        if (job.state != QueuedJob::State::pending) job.why.clear();
    return jobs;
}

std::optional<std::vector<QueuedJob>> ask_queue(const std::string& scheduler,
                                                const std::vector<std::string>& numbers,
                                                const Environment& environment) {
    const bool is_slurm = scheduler == "slurm";
    auto words = is_slurm ? squeue_command() : qstat_command(numbers);
    if (!find_in_path(words.front(), environment)) return std::nullopt;
    const auto answer = run_and_capture({.argv = std::move(words), .environment = environment}, answer_limit);
    // qstat fails for each job that has ended, but still lists the others.
    if (!answer.status.success() && (is_slurm || answer.status.signal != 0)) return std::nullopt;
    auto jobs = is_slurm ? parse_squeue(answer.out) : parse_qstat(answer.out);
    std::erase_if(jobs, [&](const QueuedJob& job) {
        return std::none_of(numbers.begin(), numbers.end(), [&](const std::string& number) {
            return job.number == number || split(job.number, '.').front() == split(number, '.').front();
        });
    });
    return jobs;
}

std::vector<std::string> cancel_command(const std::string& scheduler, const std::string& number,
                                        bool gently) {
    if (scheduler == "pbs") return {"qdel", number};  // sends SIGTERM first, and SIGKILL some seconds later
    if (gently) return {"scancel", "--batch", "--signal=TERM", number};
    return {"scancel", number};
}

}  // namespace dtrain::launch
