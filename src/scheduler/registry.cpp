// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler/registry.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "scheduler/pbs/pbs.hpp"
#include "scheduler/slurm/slurm.hpp"

namespace dtrain::scheduler {
namespace {

std::vector<const Scheduler*>& known() {
    static const Slurm slurm;
    static const Pbs pbs;
    static std::vector<const Scheduler*> all{&slurm, &pbs};
    return all;
}

/// "12.server" and "12" are one job.
bool same_job(const std::string& one, const std::string& other) {
    return one == other || split(one, '.').front() == split(other, '.').front();
}

}  // namespace

const std::vector<const Scheduler*>& schedulers() {
    return known();
}

void add(const Scheduler& scheduler) {
    known().push_back(&scheduler);
}

const Scheduler* find(std::string_view name) {
    const auto found = std::ranges::find(known(), name, [](const Scheduler* each) { return each->name(); });
    return found == known().end() ? nullptr : *found;
}

std::vector<std::string_view> choices() {
    std::vector<std::string_view> out{"auto"};
    for (const auto* each : known()) out.push_back(each->name());
    return out;
}

const Scheduler* of_this_job(const Environment& environment) {
    const auto found = std::ranges::find_if(
        known(), [&](const Scheduler* each) { return !each->job_id(environment).empty(); });
    return found == known().end() ? nullptr : *found;
}

std::optional<std::vector<cluster::HostSlots>> hosts_of_ranks(const Environment& environment,
                                                              const ReadFile& read_file) {
    for (const auto* each : known())
        if (auto hosts = each->hosts_of_ranks(environment, read_file)) return hosts;
    return std::nullopt;
}

Choice choose(const std::string& asked, const std::vector<const Scheduler*>& present) {
    if (const auto* named = find(asked)) return {.scheduler = named, .notice = {}};
    if (present.empty()) return {.scheduler = known().front(), .notice = {}};
    if (present.size() == 1) return {.scheduler = present.front(), .notice = {}};
    const auto& first = *present[0];
    const auto& other = *present[1];
    return {.scheduler = &first,
            .notice = fmt::format(
                "{} and {} are both here: the job is for {}; --scheduler {} makes it one for {}",
                first.submit_program(), other.submit_program(), first.title(), other.name(), other.title())};
}

std::vector<const Scheduler*> present(const Environment& environment) {
    std::vector<const Scheduler*> out;
    std::ranges::copy_if(known(), std::back_inserter(out), [&](const Scheduler* each) {
        return find_in_path(std::string(each->submit_program()), environment).has_value();
    });
    return out;
}

std::optional<std::vector<QueuedJob>> ask_queue(std::string_view scheduler,
                                                const std::vector<std::string>& numbers,
                                                const Environment& environment) {
    const auto* asked = find(scheduler);
    auto jobs = asked != nullptr ? asked->queued(numbers, environment) : std::nullopt;
    if (jobs)
        std::erase_if(*jobs, [&](const QueuedJob& job) {
            return std::ranges::none_of(
                numbers, [&](const std::string& number) { return same_job(job.number, number); });
        });
    return jobs;
}

}  // namespace dtrain::scheduler
