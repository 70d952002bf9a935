// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the kernel's limit of 128 KiB for one string; what the launcher hands over for 10,000 nodes is what
// a worker reads; counts of a job's state are those that looking at every rank gives.
#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/topology.hpp>

#include "base/text.hpp"
#include "identity/endpoint_list.hpp"
#include "identity/long_value.hpp"
#include "launch/backend/mpirun/mpirun.hpp"
#include "launch/backend/worker_environment.hpp"
#include "launch/machines.hpp"
#include "launch/options/carried.hpp"
#include "launch/outcome/job_state.hpp"
#include "launch/plan/plan.hpp"
#include "protocol/assignment.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;

constexpr int node_count = 10'000;
constexpr int ranks_of_node = 8;
constexpr std::size_t kernels_limit = 128 * 1024;

const Plan& big_plan() {
    static const auto plan = [] {
        std::vector<std::string> ips;
        for (int node = 0; node < node_count; ++node)
            ips.push_back(fmt::format("10.200.{}.{}", node / 250, node % 250));
        return make_plan(
            {.options = {.nproc_per_node = ranks_of_node, .ips = join(ips, ","), .host = "10.200.0.0"},
             .machine = topology::discover(),
             .program = {"/bin/true"},
             .log_dir = "/log",
             .working_dir = "/",
             .ports = {.any = {}, .exactly = [](const std::vector<int>&) {}}});
    }();
    return plan;
}

TEST(Scale, NoStringIsTooLongForTheKernel) {
    const auto environment = worker_environment(big_plan(), {}, "token", true);
    std::size_t total = 0;
    for (const auto& text : environment.to_strings()) {
        EXPECT_LT(text.size(), kernels_limit) << text.substr(0, 40);
        total += text.size();
    }
    for (const auto& word : mpirun_command(big_plan(), "/log/hostfile", {.worker = "/bin/dtrain-worker"}, {},
                                           carried_names(environment, {}), {4, 1})) {
        EXPECT_LT(word.size(), kernels_limit);
        total += word.size();
    }
    EXPECT_LT(total, std::size_t{1024} * 1024) << "and all together stay below the usual limit of 2 MB";
}

TEST(Scale, WorkersReadWhatWasPlanned) {
    auto environment = worker_environment(big_plan(), {}, "token", true);
    const auto carried = carried_names(environment, {});
    for (const auto& [name, value] : environment)
        if (name.starts_with("DTRAIN_")) {
            EXPECT_THAT(carried, testing::Contains(name));
        }
    EXPECT_EQ(cluster::parse_endpoint_list(cluster::get_long(environment, "DTRAIN_ENDPOINTS").value()),
              big_plan().endpoints.trainers);
    const int rank = 54'321;
    environment.set("DTRAIN_RANK", std::to_string(rank));
    environment.set("DTRAIN_SIZE", std::to_string(node_count * ranks_of_node));
    environment.set("DTRAIN_LOCAL_RANK", std::to_string(rank % ranks_of_node));
    environment.set("DTRAIN_LOCAL_SIZE", std::to_string(ranks_of_node));
    const auto identity = cluster::identify(environment);
    EXPECT_EQ(identity.node_rank, rank / ranks_of_node);
    EXPECT_EQ(identity.nodes, node_count);
    EXPECT_EQ(identity.hosts.at(static_cast<std::size_t>(identity.node_rank)),
              big_plan().nodes[rank / ranks_of_node].host);
    EXPECT_EQ(cluster::read_assignments(environment, identity.node_rank).value().size(),
              static_cast<std::size_t>(ranks_of_node));
}

TEST(Scale, EightyThousandRanksLiveAndEnd) {
    const int size = node_count * ranks_of_node;
    JobState job(size);
    const auto all = [&](Event::Kind kind) {
        for (int rank = 0; rank < size; ++rank)
            job.take(cluster::decode(cluster::encode({.kind = kind, .rank = rank, .host = "n"})).value());
    };
    all(Event::Kind::started);
    EXPECT_EQ(job.up(), size);
    all(Event::Kind::idle);
    EXPECT_EQ(job.hung(std::chrono::milliseconds(0)).size(), static_cast<std::size_t>(size));
    all(Event::Kind::active);
    EXPECT_TRUE(job.hung(std::chrono::milliseconds(0)).empty());
    EXPECT_FALSE(job.work_done());
    all(Event::Kind::done);
    EXPECT_TRUE(job.all_done());
    EXPECT_EQ(job.up(), 0);
}

/// What JobState counts, by looking at every rank.
void expect_counts(const JobState& job, const std::set<int>& service_ranks) {
    int up = 0, done = 0, ended = 0;
    bool all_done = true, work_done = true;
    const auto silent = job.silent();
    for (int rank = 0; rank < job.size(); ++rank) {
        const auto& end = job.end_of(rank);
        const bool is_done = end && end->kind == Event::Kind::done;
        up += job.start_of(rank) && !end ? 1 : 0;
        done += is_done ? 1 : 0;
        ended += end ? 1 : 0;
        all_done = all_done && (is_done || (service_ranks.contains(rank) && job.was_stopped_by_us(rank)));
        work_done = work_done && (is_done || service_ranks.contains(rank));
    }
    EXPECT_EQ(job.up(), up);
    EXPECT_EQ(job.done(), done);
    EXPECT_EQ(job.all_ended(), ended == job.size());
    EXPECT_EQ(job.all_done(), all_done);
    EXPECT_EQ(job.work_done(), work_done);
    EXPECT_EQ(job.any_failed(), !job.failures().empty());
}

TEST(Scale, CountsAreThoseOfLooking) {
    constexpr std::array kinds{Event::Kind::started,  Event::Kind::exited,  Event::Kind::stopped,
                               Event::Kind::done,     Event::Kind::issue,   Event::Kind::idle,
                               Event::Kind::active,   Event::Kind::warning, Event::Kind::gpus,
                               Event::Kind::gpu_error};
    for (unsigned seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 chance(seed);
        const std::set<int> service_ranks = seed % 3 == 0 ? std::set<int>{0, 2} : std::set<int>{};
        JobState job(4, service_ranks);
        for (int step = 0; step < 30; ++step) {
            if (chance() % 12 == 0) job.stop_asked();
            // Ranks that are none are passed over.
            job.take({.kind = kinds[chance() % kinds.size()],
                      .rank = static_cast<int>(chance() % 6) - 1,
                      .time_us = step});
            expect_counts(job, service_ranks);
        }
    }
}

}  // namespace
}  // namespace dtrain::launch
