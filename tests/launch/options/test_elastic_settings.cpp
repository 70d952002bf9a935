// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: when Paddle's launchers are elastic (2.2: server, job id and np all known, by options or variables;
// 2.4: --master etcd://), their levels, timeouts and numbers of restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/elastic_settings.hpp"
#include "support/message_of.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using elastic::Level;
using elastic::NodeCount;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

const Options legacy{.job_id = "j", .elastic_server = "127.0.0.1:2379", .np = "2"};
const Options current{.job_id = "j", .master = "etcd://etcd1:2379,etcd2", .nnodes = "2:4"};
const Environment in_variables{{"PADDLE_ELASTIC_SERVER", "10.0.0.9:2379"}};

std::string refusal(const Options& options, const Environment& environment = {}) {
    return message_of([&] { elastic_settings(options, environment); });
}

TEST(ElasticSettings, MostJobsAreNotElastic) {
    EXPECT_FALSE(elastic_settings({}, {}));
    EXPECT_FALSE(elastic_settings({.master = "10.0.0.1:6170", .max_restart = 3}, {}));
    EXPECT_FALSE(elastic_settings({}, in_variables)) << "a platform sets that for every job";
    EXPECT_FALSE(elastic_settings({.job_id = "j"}, in_variables));
    EXPECT_FALSE(elastic_settings({.np = "2"}, {{"PADDLE_ELASTIC_NP", "2"}}));
}

TEST(ElasticSettings, TheServerMayStandInVariables) {
    const Options options{.job_id = "j", .np = "2"};
    EXPECT_THAT(elastic_settings(options, in_variables)->access.endpoints,
                ElementsAre("http://10.0.0.9:2379"));
    EXPECT_THAT(elastic_settings(options, {{"PADDLE_ELASTIC_ETCD_SERVICE_HOST", "10.0.0.8"},
                                           {"PADDLE_ELASTIC_ETCD_SERVICE_PORT", "2380"}})
                    ->access.endpoints,
                ElementsAre("http://10.0.0.8:2380"));
    auto inside = in_variables;
    inside.set("DTRAIN_JOB_TOKEN", "of another job");
    EXPECT_FALSE(elastic_settings({.job_id = "j"}, inside));
    EXPECT_THAT(elastic_settings(legacy, in_variables)->access.endpoints,
                ElementsAre("http://127.0.0.1:2379"))
        << "the option is nearer";
}

TEST(ElasticSettings, OfPaddle22) {
    const auto settings = elastic_settings(legacy, {});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->keys.state(), "/paddle/j");
    EXPECT_EQ(settings->policy.wanted, (NodeCount{2, 2}));
    EXPECT_EQ(settings->policy.level, Level::hold);
    EXPECT_EQ(settings->policy.timeout, std::nullopt) << "it waits for ever";
    EXPECT_EQ(settings->max_failures, 0);
    EXPECT_TRUE(settings->paddles_statuses);
    auto range = legacy;
    range.np = "2:4";
    EXPECT_EQ(elastic_settings(range, {})->policy.wanted, (NodeCount{2, 4}));
}

TEST(ElasticSettings, OfPaddle24) {
    const auto settings = elastic_settings(current, {});
    ASSERT_TRUE(settings);
    EXPECT_THAT(settings->access.endpoints, ElementsAre("http://etcd1:2379", "http://etcd2:2379"))
        << "names that begin like the scheme stay whole";
    EXPECT_EQ(settings->policy.wanted, (NodeCount{2, 4}));
    EXPECT_EQ(settings->policy.level, Level::off);
    EXPECT_EQ(settings->policy.settle, 30s);
    EXPECT_EQ(settings->policy.timeout, 30s);
    EXPECT_EQ(settings->max_failures, 3);
    EXPECT_FALSE(settings->paddles_statuses);
    auto fixed = current;
    fixed.nnodes = "2";
    fixed.elastic_timeout = 5s;
    EXPECT_EQ(elastic_settings(fixed, {})->policy.timeout, 50s);
}

TEST(ElasticSettings, LevelAndRestarts) {
    auto options = current;
    options.max_restart = 5;
    EXPECT_EQ(elastic_settings(options, {})->policy.level, Level::again) << "restarts were asked for";
    EXPECT_EQ(elastic_settings(options, {})->max_failures, 5);
    options.elastic_level = 0;
    EXPECT_EQ(elastic_settings(options, {})->policy.level, Level::hold);
    options = current;
    options.elastic_level = 1;
    EXPECT_EQ(elastic_settings(options, {})->policy.level, Level::again);
    EXPECT_EQ(elastic_settings(options, {})->max_failures, 3);
    options = legacy;
    options.elastic_level = 1;
    EXPECT_EQ(elastic_settings(options, {})->policy.level, Level::again);
    EXPECT_EQ(elastic_settings(options, {})->max_failures, 3);
    options.max_restart = 0;
    EXPECT_EQ(elastic_settings(options, {})->policy.level, Level::again);
    EXPECT_EQ(elastic_settings(options, {})->max_failures, 0);
}

TEST(ElasticSettings, RefusesWhatDoesNotGoTogether) {
    auto options = legacy;
    options.np = "";
    EXPECT_THAT(refusal(options), AllOf(HasSubstr("--elastic_server"), HasSubstr("--np")));
    options = legacy;
    options.np = "4:2";
    EXPECT_THAT(refusal(options), HasSubstr("--np 4:2"));
    options = legacy;
    options.job_id = Options().job_id;
    EXPECT_THAT(refusal(options), HasSubstr("--job_id"));
    options = legacy;
    options.job_id = "a/b";
    EXPECT_THAT(refusal(options), HasSubstr("--job_id a/b"));
    options = legacy;
    options.master = "etcd://a";
    EXPECT_THAT(refusal(options), AllOf(HasSubstr("--master"), HasSubstr("--elastic_server")));
    options = current;
    options.ips = "10.0.0.1,10.0.0.2";
    EXPECT_THAT(refusal(options), HasSubstr("--ips"));
    options = current;
    options.nnodes = "0";
    EXPECT_THAT(refusal(options), HasSubstr("--nnodes 0"));
    for (const auto& without_etcd : {Options{.np = "2"}, Options{.elastic_pre_hook = "true"},
                                     Options{.scale = "1"}, Options{.force = true}})
        EXPECT_THAT(refusal(without_etcd), HasSubstr("etcd"));
}

TEST(ElasticCommand, IsAScaleWithoutAScriptOrPaddlesWords) {
    const auto what = [](Options options) -> std::optional<ElasticCommand::What> {
        options.elastic_server = "127.0.0.1:2379";
        options.job_id = "j";
        const auto command = elastic_command(options, {});
        return command ? std::optional(command->what) : std::nullopt;
    };
    using What = ElasticCommand::What;
    EXPECT_EQ(what({.scale = "+1"}), What::scale);
    EXPECT_EQ(what({.np = "3", .script = "scale"}), What::resize);
    EXPECT_EQ(what({.script = "clean"}), What::clean);
    EXPECT_EQ(what({.np = "3", .scale = "+1", .script = "train.py"}), std::nullopt);
    EXPECT_EQ(what({.np = "1", .script = "clean", .script_arguments = {"--all"}}), std::nullopt)
        << "a script";
    EXPECT_FALSE(elastic_command({.script = "clean"}, {})) << "a script";
    EXPECT_THAT(message_of([] { elastic_command({.scale = "+1"}, {}); }), HasSubstr("--elastic_server"));
    EXPECT_THAT(message_of([&] { what({.script = "scale"}); }), HasSubstr("--np"));
}

TEST(OptionsOfStart, NameTheNodes) {
    const auto options = options_of_start(current, {"10.0.0.1", "10.0.0.2"}, "10.0.0.1");
    EXPECT_EQ(options.ips, "10.0.0.1,10.0.0.2");
    EXPECT_EQ(options.host, "10.0.0.1");
    EXPECT_EQ(options.nnodes, "2");
    EXPECT_EQ(options.master, std::nullopt);
}

}  // namespace
}  // namespace dtrain::launch
