// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// The work of dtrain-launch for a job with many nodes, without starting anything: time and peak memory of
// each step, as one JSON object per line. plan_scale [NODES [RANKS_OF_NODE]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sys/resource.h>

#include <fmt/format.h>

#include "launch/backend/mpirun/mpirun.hpp"
#include "launch/backend/worker_environment.hpp"
#include "launch/options/carried.hpp"
#include "launch/outcome/rank_info.hpp"
#include "launch/outcome/report.hpp"
#include "launch/plan/plan.hpp"

namespace {

using namespace dtrain;
using namespace dtrain::launch;
using cluster::Event;

template <class Action>
auto measured(const std::string& step, const Action& action) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = action();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print("{{\"step\": \"{}\", \"seconds\": {:.4f}, \"peak_mb\": {:.1f}}}\n", step, time.count(),
               static_cast<double>(usage.ru_maxrss) / 1024);
    std::fflush(stdout);
    return result;
}

std::string addresses(int nodes) {
    std::string out;
    for (int node = 0; node < nodes; ++node)
        out += fmt::format("{}10.{}.{}.{}", node == 0 ? "" : ",", 100 + node / 65536, node / 256 % 256,
                           node % 256);
    return out;
}

Plan planned(int nodes, int ranks) {
    return make_plan({.options = {.nproc_per_node = ranks, .ips = addresses(nodes), .host = "10.100.0.0"},
                      .machine = topology::discover(),
                      .program = {"/bin/true"},
                      .log_dir = "/tmp/log",
                      .working_dir = "/tmp",
                      .ports = {.any =
                                    [](int count) {
                                        std::vector<int> ports(static_cast<std::size_t>(count));
                                        std::iota(ports.begin(), ports.end(), 20000);
                                        return ports;
                                    },
                                .exactly = [](const std::vector<int>&) {}}});
}

/// The events that workers report: every rank starts; then half of them fail and the others are stopped, or
/// all are done.
std::vector<std::string> lines_of(const Plan& plan, bool fails) {
    const int size = plan.size();
    std::vector<std::string> lines;
    const auto say = [&](Event::Kind kind, int rank, int code) {
        lines.push_back(cluster::encode(
            {.kind = kind, .rank = rank, .host = "node", .pid = 1000 + rank, .code = code, .time_us = rank}));
    };
    for (int rank = 0; rank < size; ++rank) say(Event::Kind::started, rank, 0);
    for (int rank = 0; rank < size; ++rank) {
        const bool failed = fails && rank % 2 == 0;
        say(failed  ? Event::Kind::exited
            : fails ? Event::Kind::stopped
                    : Event::Kind::done,
            rank, failed ? 1 : 0);
    }
    return lines;
}

/// After each event, makes the same queries as the launcher.
JobState lived(const Plan& plan, const std::vector<std::string>& lines) {
    JobState job(plan.size());
    for (const auto& line : lines) {
        job.take(cluster::decode(line).value());
        if (job.any_failed() && !job.stopped_after_failure()) job.stop_asked();
        if (!job.all_done() && !job.work_done()) job.hung(std::chrono::seconds(10));
        job.all_ended();
        job.up();
        job.done();
    }
    return job;
}

FailureReport examined(const Plan& plan, const JobState& job) {
    return redacted(
        examine(job, {}, info_of(plan, "node"), [](int) { return std::string("the last line\n"); }), {});
}

int number(int count, char** words, int which, int otherwise) {
    return count > which ? std::atoi(words[which]) : otherwise;
}

}  // namespace

int main(int count, char** words) {
    const int nodes = number(count, words, 1, 10'000), ranks = number(count, words, 2, 8);
    const auto plan = measured("plan", [&] { return planned(nodes, ranks); });
    measured("hostfile", [&] { return mpirun_hostfile(plan); });
    const auto environment =
        measured("environment", [&] { return worker_environment(plan, {}, "token", false); });
    const auto command = measured("command", [&] {
        return mpirun_command(plan, "/tmp/hostfile", {.worker = "/bin/dtrain-worker"}, {},
                              carried_names(environment, {}), {.major = 4, .minor = 1});
    });
    for (const bool fails : {false, true}) {
        const std::string what = fails ? " of a job that fails" : "";
        const auto job = [&] {
            const auto lines = lines_of(plan, fails);
            return measured("events" + what, [&] { return lived(plan, lines); });
        }();
        const auto report = measured("examination" + what, [&] { return examined(plan, job); });
        measured("report for people" + what, [&] { return report_text(report); });
        measured("report for programs" + what, [&] { return report_json(report); });
    }
    std::size_t max = 0;
    for (const auto& text : environment.to_strings()) max = std::max(max, text.size());
    for (const auto& word : command) max = std::max(max, word.size());
    fmt::print("{{\"step\": \"longest string\", \"bytes\": {}}}\n", max);
}
