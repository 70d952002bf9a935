// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the usage texts of Paddle's launchers: fleetrun 2.0 to 2.3 and paddle.distributed.launch 2.4
// to 3.x.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/options/option_table.hpp"

namespace dtrain::launch {
namespace {

std::string under_its_own_name(std::string_view name) {
    const auto* row = find_option(name);
    return row == nullptr ? "" : std::string(row->name);
}

TEST(OptionTable, HasEveryOptionOfPaddlesLaunchers) {
    for (const char* name : {"log_dir",
                             "backend",
                             "nproc_per_node",
                             "run_mode",
                             "gpus",
                             "selected_gpus",
                             "xpus",
                             "selected_xpus",
                             "npus",
                             "selected_npus",
                             "mlus",
                             "selected_mlus",
                             "ips",
                             "cluster_topo_path",
                             "rank_mapping_path",
                             "rank_mapping_file",
                             "enable_auto_mapping",
                             "servers",
                             "workers",
                             "heter_workers",
                             "heter_devices",
                             "worker_num",
                             "server_num",
                             "heter_worker_num",
                             "http_port",
                             "coordinators",
                             "coordinator_num",
                             "elastic_server",
                             "elastic_pre_hook",
                             "job_id",
                             "np",
                             "scale",
                             "host",
                             "force"})
        EXPECT_NE(find_option(name), nullptr) << name << " of 2.0 to 2.3";
    for (const char* name : {"master",
                             "legacy",
                             "rank",
                             "log_level",
                             "log_overwrite",
                             "sort_ip",
                             "enable_gpu_log",
                             "nnodes",
                             "devices",
                             "start_port",
                             "auto_parallel_config",
                             "auto_cluster_config",
                             "auto_tuner_json",
                             "trainers",
                             "trainer_num",
                             "gloo_port",
                             "with_gloo",
                             "max_restart",
                             "elastic_level",
                             "elastic_timeout"})
        EXPECT_NE(find_option(name), nullptr) << name << " of 2.4 to 3.x";
}

TEST(OptionTable, KnowsPaddlesOverridingVariables) {
    struct Pair {
        const char* option;
        const char* variable;
    };
    for (const auto& each : {Pair{"master", "PADDLE_MASTER"},
                             Pair{"rank", "PADDLE_RANK"},
                             Pair{"log_level", "PADDLE_LOG_LEVEL"},
                             Pair{"log_overwrite", "PADDLE_LOG_OVERWRITE"},
                             Pair{"sort_ip", "PADDLE_SORT_IP"},
                             Pair{"nnodes", "PADDLE_NNODES"},
                             Pair{"nproc_per_node", "PADDLE_NPROC_PER_NODE"},
                             Pair{"log_dir", "PADDLE_LOG_DIR"},
                             Pair{"run_mode", "PADDLE_RUN_MODE"},
                             Pair{"job_id", "PADDLE_JOB_ID"},
                             Pair{"devices", "PADDLE_DEVICES"},
                             Pair{"host", "POD_IP"},
                             Pair{"ips", "PADDLE_IPS"},
                             Pair{"start_port", "PADDLE_START_PORT"},
                             Pair{"servers", "PADDLE_SERVERS_ENDPOINTS"},
                             Pair{"trainers", "PADDLE_TRAINERS_ENDPOINTS"},
                             Pair{"server_num", "PADDLE_SERVER_NUM"},
                             Pair{"trainer_num", "PADDLE_TRAINER_NUM"},
                             Pair{"gloo_port", "PADDLE_GLOO_PORT"},
                             Pair{"with_gloo", "PADDLE_WITH_GLOO"},
                             Pair{"auto_parallel_config", "PADDLE_AUTO_PARALLEL_CONFIG"},
                             Pair{"max_restart", "PADDLE_MAX_RESTART"},
                             Pair{"elastic_level", "PADDLE_ELASTIC_LEVEL"},
                             Pair{"elastic_timeout", "PADDLE_ELASTIC_TIMEOUT"}})
        EXPECT_EQ(find_option(each.option)->overridden_by, each.variable);
    EXPECT_EQ(find_option("start_port")->preset_by, "FLAGS_START_PORT");
    EXPECT_EQ(find_option("np")->preset_by, "PADDLE_ELASTIC_NP");
}

TEST(OptionTable, AliasesLeadToTheirOption) {
    EXPECT_EQ(under_its_own_name("selected_gpus"), "gpus");
    EXPECT_EQ(under_its_own_name("devices"), "gpus");
    EXPECT_EQ(under_its_own_name("trainer_num"), "worker_num");
    EXPECT_EQ(under_its_own_name("trainers"), "workers");
    EXPECT_EQ(under_its_own_name("gloo_port"), "http_port");
}

TEST(OptionTable, DashesAndUnderscoresMeanTheSame) {
    EXPECT_EQ(under_its_own_name("nproc-per-node"), "nproc_per_node");
    EXPECT_EQ(under_its_own_name("selected-gpus"), "gpus");
    EXPECT_EQ(under_its_own_name("dry_run"), "dry-run");
    EXPECT_EQ(under_its_own_name("log-max_size"), "log-max-size");
    for (const char* unknown : {"", "gpu", "gpuss", "Gpus", "--gpus", "log dir"})
        EXPECT_EQ(find_option(unknown), nullptr) << unknown;
}

TEST(OptionTable, EveryNameIsOneOptionsAlone) {
    std::set<std::string> names;
    for (const auto& row : option_table()) {
        auto all = row.aliases;
        all.push_back(row.name);
        for (const auto name : all) {
            std::string plain(name);
            std::replace(plain.begin(), plain.end(), '-', '_');
            EXPECT_TRUE(names.insert(plain).second) << name;
            EXPECT_EQ(find_option(name), &row) << name;
        }
    }
}

TEST(OptionTable, RowsAreCompleteForTheirAnswer) {
    for (const auto& row : option_table()) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(row.help.empty(), row.answer != Answer::done) << "what works is explained in --help";
        EXPECT_TRUE(row.answer == Answer::done || !row.note.empty()) << "what does not work says why";
        EXPECT_LE(row.min, row.max);
        EXPECT_TRUE(!row.paddle.empty() || row.overridden_by.empty())
            << "dtrain's own are overridden by none";
        EXPECT_TRUE(row.group != OptionGroup::dtrain || row.paddle.empty());
    }
}

}  // namespace
}  // namespace dtrain::launch
