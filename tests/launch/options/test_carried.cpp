// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the user guide says of --env, --env-file and of the variables that other nodes get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/carried.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using tests::refuses;

std::optional<std::string> no_file(const std::string&) {
    return std::nullopt;
}

TEST(GivenVariables, ByNameOrWithAValue) {
    const Environment environment{{"TOKEN", "abc"}, {"FOO", "here"}};
    EXPECT_EQ(given_variables({.env = {"TOKEN", "FOO=a=b c", "EMPTY="}}, environment, no_file),
              (Environment{{"TOKEN", "abc"}, {"FOO", "a=b c"}, {"EMPTY", ""}}));
}

TEST(GivenVariables, TheCommandLineBeatsTheFile) {
    const auto file = [](const std::string& path) -> std::optional<std::string> {
        EXPECT_EQ(path, "job.env");
        return "# settings\n\nA=1\r\n  \nB= two words \nHERE\n";
    };
    EXPECT_EQ(given_variables({.env = {"A=2"}, .env_file = "job.env"}, {{"HERE", "x"}}, file),
              (Environment{{"A", "2"}, {"B", " two words "}, {"HERE", "x"}}));
}

TEST(GivenVariables, WhatIsWrongIsNamed) {
    const auto message = [](const Options& options) {
        return [options] {
            given_variables(options, {}, [](const std::string& path) -> std::optional<std::string> {
                if (path == "missing") return std::nullopt;
                return "A=1\n2B=3\n";
            });
        };
    };
    EXPECT_THAT(message({.env = {"=x"}}), refuses("--env =x is no variable"));
    EXPECT_THAT(message({.env = {"A-B=x"}}), refuses("A-B=x"));
    EXPECT_THAT(message({.env = {""}}), refuses("is no variable"));
    EXPECT_THAT(message({.env = {"NOT_SET"}}), refuses("write NOT_SET=VALUE"));
    EXPECT_THAT(message({.env_file = "missing"}), refuses("--env-file missing"));
    EXPECT_THAT(message({.env_file = "f"}), refuses("--env-file f, line 2:", "2B=3"));
}

TEST(CarriedNames, WhatProgramsNeedAndNothingOfOneMachine) {
    const Environment environment{{"PATH", "/bin"},
                                  {"VIRTUAL_ENV", "/v"},
                                  {"PYTHONPATH", "/p"},
                                  {"PYTHONUNBUFFERED", "1"},
                                  {"NCCL_DEBUG", "INFO"},
                                  {"FLAGS_check_nan_inf", "1"},
                                  {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                  {"DNNL_MAX_CPU_ISA", "AVX2"},
                                  {"HOME", "/root"},
                                  {"HOSTNAME", "a"},
                                  {"CUDA_VISIBLE_DEVICES", "0"},
                                  {"CUDA_LAUNCH_BLOCKING", "1"},
                                  {"OMPUTER", "no family"},
                                  {"DTRAIN", "no family either"},
                                  {"MINE", "1"},
                                  {"SSH_AUTH_SOCK", "/tmp/a"}};
    EXPECT_THAT(
        carried_names(environment, {{"MINE", "1"}}),
        ElementsAre("CUDA_LAUNCH_BLOCKING", "DNNL_MAX_CPU_ISA", "FLAGS_check_nan_inf", "MINE", "NCCL_DEBUG",
                    "ONEDNN_MAX_CPU_ISA", "PATH", "PYTHONPATH", "PYTHONUNBUFFERED", "VIRTUAL_ENV"));
}

}  // namespace
}  // namespace dtrain::launch
