// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/srun/slurm_step.hpp"

#include <thread>
#include <vector>

#include <dtrain/error.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds controller_limit{10'000};  // the controller may be busy
constexpr milliseconds between_queries{200};
constexpr milliseconds margin{3000};  // until Slurm notices that all processes of a step have ended

/// The output of a Slurm command; nothing if there is no such command.
std::string output_of(std::vector<std::string> argv, const Environment& environment) {
    try {
        return run_and_capture({.argv = std::move(argv), .environment = environment}, controller_limit).out;
    } catch (const UsageError&) {
        return {};
    }
}

std::optional<std::string> running(const SlurmStep& step, const Environment& environment) {
    return find_step(output_of({"squeue", "--noheader", "--steps", "--jobs=" + step.job_id, "--format=%i %j"},
                               environment),
                     step.name);
}

bool gone_within(milliseconds limit, const SlurmStep& step, const Environment& environment) {
    const auto until = Clock::now() + limit;
    while (running(step, environment)) {
        if (Clock::now() >= until) return false;
        std::this_thread::sleep_for(between_queries);
    }
    return true;
}

}  // namespace

std::optional<std::string> find_step(std::string_view squeue_output, const std::string& name) {
    for (const auto& line : split(squeue_output, '\n')) {
        const auto text = trimmed(line);
        const auto blank = text.find(' ');
        if (blank != std::string_view::npos && trimmed(text.substr(blank)) == name)
            return std::string(text.substr(0, blank));
    }
    return std::nullopt;
}

void end_step(const SlurmStep& step, milliseconds grace, const Environment& environment) {
    const auto id = running(step, environment);
    if (!id) return;
    if (grace.count() > 0) {
        output_of({"scancel", "--signal=TERM", *id}, environment);
        if (gone_within(grace + margin, step, environment)) return;
    }
    output_of({"scancel", *id}, environment);
    gone_within(margin, step, environment);
}

}  // namespace dtrain::launch
