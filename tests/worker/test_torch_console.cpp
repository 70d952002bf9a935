// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: torchrun's documentation of --redirects, --tee, --local-ranks-filter and
// --log-line-prefix-template.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/torch_console.hpp"

namespace dtrain::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// "out>[default1]:" for a stream with that prefix, "err>" for one as it is, "err>|" for one by lines.
std::vector<std::string> shown(const cluster::TorchJob& job, int local_rank, int size = 4) {
    std::vector<std::string> out;
    for (const auto& each : shown_torch_logs(
             job, {.rank = 8 + local_rank, .size = size, .local_rank = local_rank}, "n1", "out", "err")) {
        EXPECT_EQ(each.log, each.as_errors ? "err" : "out");
        out.push_back(each.log.string() + ">" + each.style.prefix +
                      (each.style.prefix.empty() && each.style.by_line ? "|" : ""));
    }
    return out;
}

cluster::StreamChoice streams(const char* text) {
    return cluster::StreamChoice::parse(text);
}

TEST(TorchConsole, EverythingIsShownByDefault) {
    EXPECT_THAT(shown({}, 1), ElementsAre("out>|", "err>|"));
    EXPECT_THAT(shown({}, 0, 1), ElementsAre("out>", "err>")) << "nothing can mix with one rank's bytes";
}

TEST(TorchConsole, WhatIsRedirectedIsNot) {
    EXPECT_THAT(shown({.redirects = streams("3")}, 1), IsEmpty());
    EXPECT_THAT(shown({.redirects = streams("0:1,1:2")}, 1), ElementsAre("out>|"));
    EXPECT_THAT(shown({.redirects = streams("0:1,1:2")}, 0), ElementsAre("err>|"));
}

TEST(TorchConsole, TeeHasAPrefix) {
    cluster::TorchJob job{.role = "trainer", .redirects = streams("3"), .tee = streams("1")};
    job.line_prefix = "[${role_name}${local_rank}]:";
    EXPECT_THAT(shown(job, 1), ElementsAre("out>[trainer1]:"));
    job.line_prefix = "${hostname}/${rank}/${rank} ";
    EXPECT_THAT(shown(job, 1), ElementsAre("out>n1/9/9 "));
}

TEST(TorchConsole, RanksThatTheFilterLeavesOutAreSilent) {
    EXPECT_THAT(shown({.tee = streams("3"), .shown_local_ranks = cluster::RankList::parse("0")}, 1),
                IsEmpty());
    EXPECT_THAT(shown({.shown_local_ranks = cluster::RankList::parse("0")}, 1), IsEmpty());
    EXPECT_THAT(shown({.shown_local_ranks = cluster::RankList::parse("0")}, 0),
                ElementsAre("out>|", "err>|"));
}

}  // namespace
}  // namespace dtrain::worker
