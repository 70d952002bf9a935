// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/conclusion.hpp"

#include <algorithm>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/version.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/log_files.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "launch/outcome/hang_report.hpp"
#include "launch/outcome/rank_info.hpp"
#include "launch/outcome/report_file.hpp"

namespace dtrain::launch {
namespace {

std::string launcher_of(const Options& options) {
    return options.torch ? "dtrain-run" : "dtrain-launch";
}

std::vector<std::size_t> silent_nodes(const Plan& plan, const JobState& job) {
    const auto silent = job.silent();
    const std::set<int> never_reported(silent.begin(), silent.end());
    std::vector<std::size_t> out;
    for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
        const auto& ranks = plan.nodes[node].ranks;
        const bool is_silent = std::any_of(ranks.begin(), ranks.end(), [&](const RankPlan& rank) {
            return never_reported.contains(rank.rank);
        });
        if (is_silent && static_cast<int>(node) != plan.own_node) out.push_back(node);
    }
    return out;
}

/// The end events of the ranks that are done.
std::vector<cluster::Event> done_ranks(const JobState& job) {
    std::vector<cluster::Event> out;
    for (int rank = 0; rank < job.size(); ++rank)
        if (const auto& end = job.end_of(rank); end && end->kind == cluster::Event::Kind::done)
            out.push_back(*end);
    return out;
}

std::vector<metrics::Fact> page_info(const Plan& plan, const Options& options) {
    auto command = std::vector{options.script};
    command.insert(command.end(), options.script_arguments.begin(), options.script_arguments.end());
    return {{"dtrain", version},
            {"program", join(redacted_arguments(command), " ")},
            {"job", plan.job_id},
            {"started by", plan.engine},
            {"logs", plan.log_dir}};
}

}  // namespace

std::string run_record(const Plan& plan) {
    return plan.log_dir + "/run-record.json";
}

Conclusion::Conclusion(const Plan& plan, const Options& options, const Environment& environment, int restarts,
                       RunPage* page)
    : plan_(plan),
      options_(options),
      environment_(environment),
      restarts_(restarts),
      page_(page),
      info_(info_of(plan, host_name(), options.torch ? std::optional(restarts) : std::nullopt)) {
    for (const auto& rank : info_) log_begins_.push_back(options.log_overwrite ? 0 : size_or_zero(rank.log));
    if (page_ != nullptr) page_->begin(locations_of(plan, info_), page_info(plan, options), run_record(plan));
}

std::vector<std::string> Conclusion::hosts() const {
    std::vector<std::string> out;
    for (const auto& rank : info_) out.push_back(rank.host);
    return out;
}

Ending Conclusion::ending_of(const Watched& ended, const std::function<std::string()>& why_stopped) const {
    std::vector<std::string> machine_info;
    if (const auto kills = oom_watch_.kills_since(); kills && kills->count > 0)
        machine_info.push_back(kills->to_sentence());
    if (const auto reached = pids_watch_.reached_since()) machine_info.push_back(*reached);
    Ending ending{.engine = plan_.engine,
                  .launcher = launcher_of(options_),
                  .engine_status = ended.engine_status,
                  .asked_to_stop_by = ended.asked_to_stop_by,
                  .killed_at_once = ended.killed_at_once,
                  .engine_text = ended.engine_text,
                  .restarts = restarts_,
                  .reported_hangs = ended.reported_hangs,
                  .machine = host_name(),
                  .machine_info = join(machine_info, "; ")};
    if (!ended.hung.empty()) {
        const auto diagnosis = diagnose(ended.job, ended.hung, hosts());
        ending.hang = diagnosis;
        ending.stop_reason = hang_reason(ended.hung, diagnosis);
        if (diagnosis.waiting.size() > 1)
            ending.stop_details.assign(diagnosis.waiting.begin() + 1, diagnosis.waiting.end());
        if (diagnosis.cause != trace::HangDiagnosis::Cause::unknown)  // else it is the reason
            ending.stop_details.push_back(hang_sign(ended.hung));
        append(ending.stop_details, hang_locations(ended.hung, [&](int rank) {
                   const auto& info = info_[static_cast<std::size_t>(rank)];
                   return info.log + ".stacks" + (info.is_local ? "" : " on " + info.host);
               }));
        if (auto done = done_before(done_ranks(ended.job))) ending.stop_details.push_back(std::move(*done));
        ending.stop_status = status_hung;
    } else if (ended.commanded_to_stop) {
        ending.stop_reason = why_stopped();
    }
    if (ended.lost) ending.lost_node = info_[static_cast<std::size_t>(*ended.lost)].node;
    ending.lost_because = ended.lost_because;
    return ending;
}

FailureReport Conclusion::report_of(const Watched& ended, const Ending& ending) const {
    const auto log_tail = [&](int rank) {
        const auto number = static_cast<std::size_t>(rank);
        const auto& sent = ended.job.output_of(rank);  // a rank of another node has sent its output
        if (!sent.empty()) return sent;
        const auto tail = tail_of(info_[number].log, log_begins_[number]);
        const auto& other = info_[number].other_log;
        return tail.empty() && !other.empty() ? tail_of(other, 0) : tail;
    };
    return redacted(examine(ended.job, ending, info_, log_tail),
                    KnownSecrets(environment_, options_.script_arguments));
}

JobOutcome Conclusion::draw(
    const Watched& ended, const std::function<std::string()>& why_stopped,
    const std::function<bool(int node, const std::string& log, const std::string& line)>& end_log) const {
    const auto report = report_of(ended, ending_of(ended, why_stopped));
    const auto nodes = plan_.nodes_of_ranks();
    for (const auto* ends : {&report.failed, &report.stopped})
        for (const auto& rank : *ends)
            if (const auto line = final_lines(report, rank);
                line && !end_log(nodes[static_cast<std::size_t>(rank.rank)], rank.info.log, *line))
                append_line(rank.info.log, *line);
    if (page_ != nullptr)
        page_->end(ended.job, report);
    else if (options_.report)
        write_report_file(*options_.report, report_json(report), static_cast<mode_t>(options_.log_mode));
    const auto text = report_text(report);
    if (!text.empty()) write_all(STDERR_FILENO, fmt::format("{}: {}", launcher_of(options_), text));
    return {.status = report.status,
            .stopped_by = ended.asked_to_stop_by,
            .commanded_to_stop = ended.commanded_to_stop,
            .lost_nodes = silent_nodes(plan_, ended.job),
            .summary = text.substr(0, text.find('\n'))};
}

}  // namespace dtrain::launch
