// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: torchrun's documentation of --redirects and --local-ranks-filter; what is written is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/torch_job.hpp"
#include "support/refuses.hpp"

namespace dtrain::cluster {
namespace {

using Streams = StreamChoice::Streams;
using tests::refuses;

TEST(StreamChoice, OneNumberIsForAllRanks) {
    EXPECT_EQ(StreamChoice::parse("0").of(5), Streams{});
    EXPECT_EQ(StreamChoice::parse("1").of(5), (Streams{.out = true, .err = false}));
    EXPECT_EQ(StreamChoice::parse("2").of(0), (Streams{.out = false, .err = true}));
    EXPECT_EQ(StreamChoice::parse("3").of(0), (Streams{.out = true, .err = true}));
    EXPECT_FALSE(StreamChoice::parse("0").any());
}

TEST(StreamChoice, OrOneForEachRank) {
    const auto choice = StreamChoice::parse("0:3,1:1,12:0");
    EXPECT_EQ(choice.of(0), (Streams{.out = true, .err = true}));
    EXPECT_EQ(choice.of(1), (Streams{.out = true, .err = false}));
    EXPECT_EQ(choice.of(12), Streams{});
    EXPECT_EQ(choice.of(2), Streams{}) << "not named";
    EXPECT_TRUE(choice.any());
    EXPECT_EQ(choice.text(), "0:3,1:1,12:0");
}

TEST(StreamChoice, AnythingElseIsRefused) {
    for (const char* text : {"", "4", "00", "0:", ":1", "0:4", "a:1", "-1:1", "0:1,", "0:1;1:1", "1,2"})
        EXPECT_THAT([&] { StreamChoice::parse(text); }, refuses("names no streams")) << text;
}

TEST(TorchJob, IsReadAsWritten) {
    const TorchJob job{.role = "a \"role\"",
                       .run_id = "77",
                       .max_restarts = 3,
                       .redirects = StreamChoice::parse("1"),
                       .tee = StreamChoice::parse("0:3"),
                       .line_prefix = "[${rank}] ",
                       .shown_local_ranks = RankList::parse("0,2"),
                       .virtual_local_rank = true};
    Environment environment;
    job.write(environment);
    EXPECT_EQ(TorchJob::read(environment), job);
    Environment defaults;
    TorchJob{}.write(defaults);
    EXPECT_EQ(TorchJob::read(defaults), TorchJob{}) << "all ranks are shown";
    EXPECT_EQ(TorchJob::read({}), std::nullopt);
    EXPECT_THAT([] { TorchJob::read({{"DTRAIN_TORCH_JOB", "{"}}); }, refuses("DTRAIN_TORCH_JOB={: expected"));
    EXPECT_THAT([] { TorchJob::read({{"DTRAIN_TORCH_JOB", "{}"}}); }, refuses("DTRAIN_TORCH_JOB"));
}

}  // namespace
}  // namespace dtrain::cluster
