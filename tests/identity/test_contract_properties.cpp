// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any environment, checked on seeded variations of captured ones: it describes a
// rank of a job, or it is refused by the name of a variable.
#include <numeric>

#include <gtest/gtest.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/captured.hpp"
#include "identity/contracts.hpp"
#include "identity/paddle_cloud.hpp"
#include "support/fuzz.hpp"

namespace dtrain::cluster {
namespace {

using tests::Corpus;
using tests::for_all;
using tests::is_helpful;
using tests::Mutator;

const Corpus numbers_and_lists{
    .examples = {"0", "3", "16", "2(x3),1", "n[01-03,7],login2", "a:2,b:2", "a,b",
                 "10.0.0.1:6170,10.0.0.2:6170"},
    .pieces = {"1", "2", "(x", ")", ",", ":", "n", "[", "]", "-", " ", "node", "10.0.0.1", ":6170", "[::1]"}};

/// The variables of every captured environment, with those that the user may add.
const std::vector<Environment>& starting_points() {
    static const auto all = [] {
        std::vector<Environment> out;
        for (const auto& [job, ranks] : captured_environments())
            for (const auto& [rank, environment] : ranks) {
                out.push_back(environment);
                out.push_back(environment);
                out.back().set("DTRAIN_HOSTS", "nodea:2,nodeb:2");
            }
        out.push_back({{"DTRAIN_RANK", "1"},
                       {"DTRAIN_SIZE", "4"},
                       {"DTRAIN_LOCAL_RANK", "1"},
                       {"DTRAIN_LOCAL_SIZE", "2"},
                       {"DTRAIN_JOB_ID", "7"},
                       {"DTRAIN_HOSTS", "a:2,b:2"}});
        return out;
    }();
    return all;
}

std::vector<std::string> names_in(const Environment& environment) {
    std::vector<std::string> names;
    for (const auto& [name, value] : environment) names.push_back(name);
    return names;
}

struct Variation {
    Environment base;
    Environment environment;
};

std::string as_literal(const Variation& variation) {
    return tests::as_literal(variation.environment);
}

TEST(ContractProperties, AnyEnvironmentIsRefusedByNameOrDescribesARank) {
    const auto vary = [](Mutator& mutator) {
        const auto& base = starting_points()[mutator.below(starting_points().size())];
        return Variation{base, mutator.environment(base)};
    };
    for_all(numbers_and_lists, vary, [](const Variation& variation) {
        try {
            const auto identity = identify(variation.environment, {.process = 4711, .parent = 4700});
            EXPECT_GE(identity.rank, 0);
            EXPECT_LT(identity.rank, identity.size);
            EXPECT_GE(identity.local_rank, 0);
            EXPECT_LT(identity.local_rank, identity.local_size);
            EXPECT_LE(identity.local_size, identity.size);
            EXPECT_GE(identity.node_rank, 0);
            EXPECT_LT(identity.node_rank, identity.nodes);
            EXPECT_FALSE(identity.job_id.empty());
            const auto nodes = static_cast<std::size_t>(identity.nodes);
            EXPECT_TRUE(identity.hosts.empty() || identity.hosts.size() == nodes);
            const auto& ranks = identity.ranks_of_node;
            EXPECT_TRUE(ranks.empty() || ranks.size() == nodes);
            if (!ranks.empty()) {
                EXPECT_EQ(std::accumulate(ranks.begin(), ranks.end(), 0), identity.size);
            }
        } catch (const UsageError& error) {
            auto named = names_in(variation.base);
            named.emplace_back("node list '");
            EXPECT_TRUE(is_helpful(error.what(), named));
        }
    });
}

TEST(ContractProperties, AnySlurmAllocationIsRefusedByNameOrHasNodes) {
    const Environment base{{"SLURM_JOB_NODELIST", "n[01-03,7]"}, {"SLURM_JOB_CPUS_PER_NODE", "8(x3),16"}};
    const auto vary = [&](Mutator& mutator) { return mutator.environment(base); };
    for_all(numbers_and_lists, vary, [](const Environment& environment) {
        try {
            for (const auto& node : slurm_job_nodes(environment)) {
                EXPECT_FALSE(node.host.empty());
                EXPECT_GE(node.slots, 0);
            }
        } catch (const UsageError& error) {
            EXPECT_TRUE(is_helpful(
                error.what(),
                {"node list '" + environment.get_or("SLURM_JOB_NODELIST", ""), "SLURM_JOB_CPUS_PER_NODE"}));
        }
    });
}

TEST(ContractProperties, AnyPaddleCloudIsRefusedByNameOrGivesEveryRankAnEndpoint) {
    const Environment base{
        {"PADDLE_TRAINERS", "10.0.0.1,10.0.0.2"},
        {"POD_IP", "10.0.0.2"},
        {"PADDLE_TRAINER_ID", "1"},
        {"TRAINER_PORTS_NUM", "2"},
        {"PADDLE_TRAINERS_NUM", "2"},
        {"PADDLE_PORT", "6170"},
        {"DISTRIBUTED_TRAINER_ENDPOINTS", "10.0.0.1:6170,10.0.0.1:6171,10.0.0.2:6170,[::1]:6171"}};
    const auto vary = [&](Mutator& mutator) {
        auto environment = mutator.environment(base);
        if (mutator.one_in(3)) environment.unset("DISTRIBUTED_TRAINER_ENDPOINTS");
        return environment;
    };
    for_all(numbers_and_lists, vary, [&](const Environment& environment) {
        try {
            const auto cloud = paddle_cloud(environment);
            if (!cloud) return;
            EXPECT_GE(cloud->node_rank, 0);
            EXPECT_LT(cloud->node_rank, static_cast<int>(cloud->nodes.size()));
            const auto endpoints = cloud_endpoints(*cloud, 2);
            EXPECT_EQ(endpoints.size(), 2 * cloud->nodes.size());
            for (const auto& endpoint : endpoints) {
                const auto colon = endpoint.rfind(':');
                ASSERT_NE(colon, std::string::npos) << endpoint;
                EXPECT_GT(colon, 0U) << endpoint;
                const auto port = parse_int(endpoint.substr(colon + 1));
                EXPECT_TRUE(port && *port >= 1 && *port <= 65535) << endpoint;
            }
        } catch (const UsageError& error) {
            auto named = names_in(base);
            named.push_back("port ");
            EXPECT_TRUE(is_helpful(error.what(), named));
        }
    });
}

}  // namespace
}  // namespace dtrain::cluster
