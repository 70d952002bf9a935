// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any settings file and any lists of servers and workers, checked on seeded inputs.
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "launch/options/settings.hpp"
#include "launch/plan/members.hpp"
#include "support/fuzz.hpp"

namespace dtrain::launch {
namespace {

using tests::Mutator;

TEST(SettingsProperties, AnyTextIsRefusedByTheFilesNameOrHasSettingsOfIt) {
    const tests::Corpus corpus{
        .examples = {"grace = 10\nbind = \"none\"\n",
                     "log_dir = \"/scratch/log\"\n# more\nlog-max-size = \"100M\"\n",
                     "[launch]\ngrace = 2.5\n", "start_port = 6170\nmax_restart = 3\n"},
        .pieces = {"grace", "bind", "=", " ", "\n", "\"none\"", "10", "true", "[", "]", "[launch]", "{", "}",
                   "'x'", "1979-05-27", "\"\\u0000\"", "\"a\\nb\"", "# c"}};
    tests::for_all(corpus, &Mutator::text, [](const std::string& text) {
        try {
            for (const auto& setting : parse_settings(text, "/etc/dtrain.toml")) {
                EXPECT_FALSE(setting.name.empty());
                EXPECT_EQ(setting.origin, "/etc/dtrain.toml");
            }
        } catch (const UsageError& error) {
            EXPECT_TRUE(tests::is_helpful(error.what(), {"/etc/dtrain.toml"}));
        }
    });
}

struct Lists {
    std::string servers, workers, heter_workers, heter_devices;
};

std::string as_literal(const Lists& lists) {
    return tests::as_literal(
        std::vector<std::string>{lists.servers, lists.workers, lists.heter_workers, lists.heter_devices});
}

TEST(ServerListsProperties, AnyListsAreRefusedByTheirOptionOrPlaceEveryMember) {
    const tests::Corpus corpus{
        .examples = {"10.0.0.1:6170,10.0.0.2:6170", "10.0.0.1", "a,b,a", "[::1]:6170", "a:1;b:2,b:3",
                     "gpu;cpu"},
        .pieces = {"10.0.0.1", "a", ":", "6170", ",", ";", " ", "[::1]", "gpu", "cpu"}};
    const auto any_lists = [](Mutator& mutator) {
        Lists lists{mutator.text(), mutator.text(), "", ""};
        if (mutator.one_in(2)) lists.servers = "10.0.0.1:6170,10.0.0.2";
        if (mutator.one_in(2)) lists.workers = "10.0.0.1,10.0.0.1";
        if (mutator.one_in(3)) lists.heter_workers = mutator.text();
        if (mutator.one_in(3)) lists.heter_devices = mutator.damaged("gpu;cpu");
        return lists;
    };
    tests::for_all(corpus, any_lists, [](const Lists& lists) {
        Options options;
        options.servers = lists.servers;
        options.workers = lists.workers;
        options.heter_workers = lists.heter_workers;
        options.heter_devices = lists.heter_devices;
        try {
            const auto of_roles = server_job_members(options, 6170);
            auto members = of_roles.servers;
            members.insert(members.end(), of_roles.workers.begin(), of_roles.workers.end());
            for (const auto& stage : of_roles.stages)
                members.insert(members.end(), stage.members.begin(), stage.members.end());
            for (const auto& member : members) {
                EXPECT_FALSE(member.host.empty());
                EXPECT_TRUE(!member.port || (*member.port >= 1 && *member.port <= 65535));
            }
        } catch (const UsageError& error) {
            std::vector<std::string> named{"--servers",       "--workers",    "--heter_workers",
                                           "--heter_devices", "--server_num", "--worker_num",
                                           "is in the job",   "is not in 1.."};
            for (const auto& list : {lists.servers, lists.workers, lists.heter_workers})
                for (const auto& stage : split(list, ';'))
                    for (const auto& member : split(stage, ',')) named.push_back('"' + member);
            EXPECT_TRUE(tests::is_helpful(error.what(), named));
        }
    });
}

}  // namespace
}  // namespace dtrain::launch
