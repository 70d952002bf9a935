// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the three documented forms of the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "worker/options.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

using Words = std::vector<std::string>;
using Task = Options::Task;

Options parsed(const Words& args, const Environment& environment = {}) {
    const auto result = parse_options(args, environment);
    EXPECT_EQ(result.text, std::nullopt);
    return result.options;
}

TEST(WorkerOptions, NothingIsTheBuiltInJob) {
    const auto options = parsed({});
    EXPECT_EQ(options.task, Task::native_job);
    EXPECT_THAT(options.command, IsEmpty());
    EXPECT_EQ(options.log_dir, "log");
    EXPECT_EQ(options.grace, 10s);
    EXPECT_EQ(options.start_port, std::nullopt);
    EXPECT_TRUE(options.bind);
}

TEST(WorkerOptions, WhatTheNativeJobGets) {
    struct Case {
        Words args;
        Words command;
    };
    for (const auto& each :
         std::vector<Case>{{{"job.toml"}, {"job.toml"}},
                           {{"job.toml", "--epochs", "3", "--help"}, {"job.toml", "--epochs", "3", "--help"}},
                           {{"--bind", "none", "job.toml", "--bind=auto"}, {"job.toml", "--bind=auto"}},
                           {{"--epochs=3", "--lr=0.1"}, {"--epochs=3", "--lr=0.1"}},
                           {{"--epochs", "3", "--log_dir", "x"}, {"--epochs", "3", "--log_dir", "x"}},
                           {{"--epochs=3", "--log_dir", "x"}, {"--epochs=3", "--log_dir", "x"}},
                           {{"--resume", "--bind=none", "--info"}, {"--resume", "--bind=none", "--info"}},
                           {{"--resume"}, {"--resume"}}}) {
        const auto options = parsed(each.args);
        EXPECT_EQ(options.task, Task::native_job);
        EXPECT_EQ(options.command, each.command);
        EXPECT_EQ(options.log_dir, "log");
    }
    EXPECT_FALSE(parsed({"--bind", "none", "job.toml", "--bind=auto"}).bind);
}

TEST(WorkerOptions, AProgramBehindTwoDashesKeepsItsWords) {
    const Words own{"python3", "train.py", "--log_dir", "theirs", "--info", "-h", "--", "", "a b"};
    Words args{"--log_dir", "ours", "--"};
    args.insert(args.end(), own.begin(), own.end());
    const auto options = parsed(args);
    EXPECT_EQ(options.task, Task::supervise);
    EXPECT_EQ(options.command, own);
    EXPECT_EQ(options.log_dir, "ours");
    EXPECT_THAT(parsed({"--", "job.toml"}).command, ElementsAre("job.toml"));
}

TEST(WorkerOptions, EverySpelling) {
    for (const auto& args :
         {Words{"--log_dir", "l", "--grace", "0.5", "--start_port", "6170", "--bind", "none", "--", "true"},
          Words{"--log-dir=l", "--grace=0.5", "--start-port=6170", "--bind=none", "--", "true"},
          Words{"--log-dir", "l", "--grace", "0.5", "--start-port", "6170", "--bind", "none", "--",
                "true"}}) {
        const auto options = parsed(args);
        EXPECT_EQ(options.log_dir, "l");
        EXPECT_EQ(options.grace, 500ms);
        EXPECT_EQ(options.start_port, 6170);
        EXPECT_FALSE(options.bind);
        EXPECT_THAT(options.command, ElementsAre("true"));
    }
}

TEST(WorkerOptions, Output) {
    const auto nothing = parsed({"--", "true"});
    EXPECT_EQ(nothing.log.mode, 0600U);
    EXPECT_FALSE(nothing.log.overwrite);
    EXPECT_EQ(nothing.log.max_size, std::nullopt);
    EXPECT_EQ(nothing.log.folders, LogFolders::own);
    EXPECT_EQ(parsed({"--trust-log-dir", "--", "true"}).log.folders, LogFolders::any);
    EXPECT_EQ(nothing.show, std::nullopt);
    for (const auto& args :
         {Words{"--log-mode", "0640", "--log-max-size", "100M", "--log_overwrite", "--show", "0,2-3", "--",
                "true"},
          Words{"--log_mode=640", "--log_max_size=100M", "--log-overwrite", "--show=0,2-3", "--", "true"}}) {
        const auto options = parsed(args);
        EXPECT_EQ(options.log.mode, 0640U);
        EXPECT_TRUE(options.log.overwrite);
        EXPECT_EQ(options.log.max_size, 100U * 1024 * 1024);
        EXPECT_EQ(options.show, cluster::RankList::parse("0,2-3"));
    }
    EXPECT_EQ(parsed({"--log-max-size", "4096", "--", "true"}).log.max_size, 4096U);
    EXPECT_EQ(parsed({"--log-max-size", "16k", "--", "true"}).log.max_size, 16'384U);
    EXPECT_EQ(parsed({"--log-max-size", "2G", "--", "true"}).log.max_size, 2ULL << 30);
}

TEST(WorkerOptions, WrapperAndHang) {
    const auto nothing = parsed({"--", "true"});
    EXPECT_THAT(nothing.wrap, IsEmpty());
    EXPECT_EQ(nothing.wrap_ranks.to_string(), "all");
    EXPECT_FALSE(nothing.hang_limit);
    EXPECT_FALSE(nothing.dumps_operations);
    const auto options = parsed(
        {"--wrap", "gdb -ex 'run -x' --args", "--wrap-ranks", "1", "--hang-timeout", "2.5", "--", "true"});
    EXPECT_THAT(options.wrap, ElementsAre("gdb", "-ex", "run -x", "--args"));
    EXPECT_EQ(options.wrap_ranks.to_string(), "1");
    EXPECT_EQ(options.hang_limit, (cluster::HangLimit{2500ms, false}));
    EXPECT_EQ(parsed({"--hang-timeout", "auto:15", "--", "true"}).hang_limit,
              (cluster::HangLimit{15s, true}));
    EXPECT_TRUE(parsed({"--dump-operations", "--", "true"}).dumps_operations);
    EXPECT_FALSE(options.trace_mpi);
    EXPECT_TRUE(parsed({"--trace-mpi", "--", "true"}).trace_mpi);
    EXPECT_TRUE(parsed({"--trace_mpi", "--", "true"}).trace_mpi);
    EXPECT_THAT(options.command, ElementsAre("true"));
}

TEST(WorkerOptions, TheEnvironmentGivesDefaults) {
    const Environment environment{{"DTRAIN_LOG_DIR", "/scratch/log"}, {"DTRAIN_GRACE", "3"}};
    EXPECT_EQ(parsed({"--", "true"}, environment).log_dir, "/scratch/log");
    EXPECT_EQ(parsed({"--", "true"}, environment).grace, 3s);
    const auto typed = parsed({"--log_dir", "l", "--grace", "1", "--", "true"}, environment);
    EXPECT_EQ(typed.log_dir, "l");
    EXPECT_EQ(typed.grace, 1s);
    EXPECT_THAT(
        [] {
            parsed({}, {{"DTRAIN_GRACE", "-3"}});
        },
        ThrowsMessage<UsageError>(HasSubstr("DTRAIN_GRACE=-3")));
}

TEST(WorkerOptions, Info) {
    EXPECT_EQ(parsed({"--info"}).task, Task::info);
    EXPECT_THAT(parsed({"--info"}).command, ElementsAre("--info"));
    EXPECT_THAT(parsed({"--info=text"}).command, ElementsAre("--info"));
    EXPECT_THAT(parsed({"--info=json"}).command, ElementsAre("--info=json"));
    EXPECT_EQ(parsed({"--bind", "none", "--info=json"}).task, Task::info);
    EXPECT_EQ(parsed({"job.toml", "--info"}).task, Task::native_job) << "behind a job file it is the job's";
}

TEST(WorkerOptions, TextsThatTheNativeProgramPrints) {
    EXPECT_EQ(parsed({"--print-man"}).task, Task::info);
    EXPECT_THAT(parsed({"--print-man"}).command, ElementsAre("--print-man"));
    EXPECT_EQ(parsed({"--print-completion", "zsh"}).task, Task::info);
    EXPECT_THAT(parsed({"--print-completion", "zsh"}).command, ElementsAre("--print-completion=zsh"));
}

TEST(WorkerOptions, WhatCannotBeIsRefused) {
    struct Case {
        Words args;
        const char* named;
    };
    for (const auto& wrong :
         std::vector<Case>{{{"python3", "train.py"}, "write: dtrain-worker -- python3"},
                           {{"train"}, "\"train\" is no job file"},
                           {{"--"}, "no program after --"},
                           {{"--log_dir", "l", "--"}, "no program after --"},
                           {{"--log_dri", "l", "--", "true"}, "\"--log_dri\" before --"},
                           {{"job.toml", "--", "true"}, "\"job.toml\" before --"},
                           {{"--start_port", "0", "--", "true"}, "--start_port"},
                           {{"--start_port", "65001", "--", "true"}, "--start_port"},
                           {{"--start_port", "x", "--", "true"}, "--start_port"},
                           {{"--grace", "-1", "--", "true"}, "--grace"},
                           {{"--grace", "nan", "--", "true"}, "--grace"},
                           {{"--grace", "inf", "--", "true"}, "--grace"},
                           {{"--bind", "cores", "--", "true"}, "--bind"},
                           {{"--info=xml"}, "--info"},
                           {{"--print-completion", "fish"}, "--print-completion"},
                           {{"--log-mode", "rw", "--", "true"}, "--log-mode rw"},
                           {{"--log-mode", "0888", "--", "true"}, "--log-mode 0888"},
                           {{"--log-mode", "0400", "--", "true"}, "--log-mode 0400"},
                           {{"--log-mode", "01600", "--", "true"}, "--log-mode 01600"},
                           {{"--log-max-size", "much", "--", "true"}, "--log-max-size"},
                           {{"--log-max-size", "-5", "--", "true"}, "--log-max-size"},
                           {{"--log-max-size", "4095", "--", "true"}, "--log-max-size 4095"},
                           {{"--show", "most", "--", "true"}, "\"most\""},
                           {{"--wrap-ranks", "x", "--", "true"}, "\"x\""},
                           {{"--wrap", "a 'b", "--", "true"}, "a 'b"},
                           {{"--hang-timeout", "-1", "--", "true"}, "--hang-timeout"},
                           {{"--hang-timeout", "nan", "--", "true"}, "--hang-timeout nan"},
                           {{"--hang-timeout", "auto:0", "--", "true"}, "--hang-timeout auto:0"},
                           {{"--log_dir"}, "--log_dir"}})
        EXPECT_THAT([&] { parsed(wrong.args); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr(wrong.named), Not(HasSubstr("\n")))))
            << testing::PrintToString(wrong.args);
}

TEST(WorkerOptions, HelpAndVersionAreTextsToPrint) {
    for (const char* arg : {"-h", "--help"}) {
        const auto help = parse_options({arg}, {}).text;
        ASSERT_TRUE(help);
        for (const char* option : {"--log_dir", "--grace", "--start_port", "--bind", "--info"})
            EXPECT_THAT(*help, HasSubstr(option));
    }
    EXPECT_EQ(parse_options({"--version"}, {}).text, std::string("dtrain ") + version + "\n");
}

}  // namespace
}  // namespace dtrain::worker
