// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a table of command lines and what --help promises about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "native/options.hpp"
#include "support/message_of.hpp"

namespace dtrain::native {
namespace {

Options parse(const std::vector<std::string>& arguments) {
    return parse_options("dtrain-worker", arguments);
}

std::string options_refusal(const std::vector<std::string>& arguments) {
    return tests::message_of([&] { parse(arguments); });
}

TEST(Options, NothingIsTheBuiltInJob) {
    const auto options = parse({});
    EXPECT_FALSE(options.job || options.resume || options.resume_from || options.epochs ||
                 options.checkpoint_dir || options.print_and_exit);
}

TEST(Options, Everything) {
    const auto options = parse(
        {"my.toml", "--epochs", "7", "--checkpoint-dir=out", "--resume", "a.h5", "--time-limit", "1.5"});
    EXPECT_EQ(options.time_limit, 1.5);
    EXPECT_EQ(options.job, "my.toml");
    EXPECT_EQ(options.epochs, 7);
    EXPECT_EQ(options.checkpoint_dir, "out");
    EXPECT_TRUE(options.resume);
    EXPECT_EQ(options.resume_from, "a.h5");
}

TEST(Options, ResumeAutoMayBegin) {
    const auto options = parse({"my.toml", "--resume", "auto"});
    EXPECT_TRUE(options.resume && options.fallback_to_start);
    EXPECT_EQ(options.resume_from, std::nullopt);
    EXPECT_FALSE(parse({"my.toml", "--resume"}).fallback_to_start);
    EXPECT_EQ(parse({"my.toml", "--resume", "./auto"}).resume_from, "./auto");
}

TEST(Options, ResumeWithoutAFileDoesNotTakeTheJob) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"--resume", "my.toml"}, {"my.toml", "--resume"}, {"--resume", "--epochs", "3", "my.toml"}}) {
        const auto options = parse(arguments);
        EXPECT_EQ(options.job, "my.toml");
        EXPECT_TRUE(options.resume);
        EXPECT_EQ(options.resume_from, std::nullopt);
    }
}

TEST(Options, HelpAndVersion) {
    const auto help = parse({"--help"}).print_and_exit.value();
    for (const char* word :
         {"--resume", "--epochs", "--checkpoint-dir", "job.toml", "mpirun -np 2 dtrain-worker"})
        EXPECT_THAT(help, testing::HasSubstr(word));
    EXPECT_EQ(parse({"--version"}).print_and_exit, std::string("dtrain-worker ") + version + "\n");
}

TEST(Options, Refusals) {
    for (const std::string wrong : {"0", "-1", "1h", "inf"})
        EXPECT_EQ(options_refusal({"--time-limit=" + wrong}),
                  "--time-limit " + wrong + ": it must be a number of seconds above 0");
    EXPECT_EQ(options_refusal({"--epoch", "3"}), "unknown option --epoch; did you mean --epochs?");
    EXPECT_EQ(options_refusal({"--zzzzzzzz"}), "unknown option --zzzzzzzz; --help shows all options");
    EXPECT_EQ(options_refusal({"a.toml", "b.toml"}),
              "one job file at a time: 'b.toml' is left over after 'a.toml'");
    EXPECT_EQ(options_refusal({"--epochs", "0"}), "--epochs 0: it must be 1 or more");
    EXPECT_THAT(options_refusal({"--epochs", "many"}), testing::HasSubstr("many"));
    EXPECT_THAT(options_refusal({"--epochs"}), testing::HasSubstr("--epochs"));
    EXPECT_THAT(options_refusal({"--checkpoint-dir="}), testing::HasSubstr("--checkpoint-dir"));
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"--epochs", "many"}, {"--epochs"}})
        EXPECT_EQ(options_refusal(arguments).find('\n'), std::string::npos);
}

TEST(Options, Threads) {
    EXPECT_EQ(compute_threads({}), 1);
    EXPECT_EQ(compute_threads({{"OMP_NUM_THREADS", "3"}}), 3);
    EXPECT_EQ(compute_threads({{"OMP_NUM_THREADS", "4,2"}}), 4);
    for (const char* wrong : {"", "0", "-2", "two", "2.5"})
        EXPECT_THROW(compute_threads({{"OMP_NUM_THREADS", wrong}}), UsageError) << wrong;
}

}  // namespace
}  // namespace dtrain::native
