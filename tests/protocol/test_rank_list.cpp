// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the meaning of the lists, written out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "protocol/rank_list.hpp"

namespace dtrain::cluster {
namespace {

using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::vector<int> of_a_job_of_six(const RankList& list) {
    std::vector<int> ranks;
    for (int rank = 0; rank < 6; ++rank)
        if (list.contains(rank)) ranks.push_back(rank);
    return ranks;
}

TEST(RankList, WhatTheTextsName) {
    struct Case {
        const char* text;
        std::vector<int> ranks;
        const char* shortest;
    };
    for (const auto& each : std::vector<Case>{{"0", {0}, "0"},
                                              {"0,2-3", {0, 2, 3}, "0,2-3"},
                                              {"3,2,3", {2, 3}, "2-3"},
                                              {"4-900", {4, 5}, "4-900"},
                                              {"7", {}, "7"},
                                              {" 1, 2", {1, 2}, "1-2"},
                                              {"all", {0, 1, 2, 3, 4, 5}, "all"},
                                              {"none", {}, "none"}}) {
        const auto list = RankList::parse(each.text);
        EXPECT_THAT(of_a_job_of_six(list), ElementsAreArray(each.ranks)) << each.text;
        EXPECT_EQ(list.count_in(6), static_cast<int>(each.ranks.size())) << each.text;
        EXPECT_EQ(list.to_string(), each.shortest);
        EXPECT_EQ(RankList::parse(list.to_string()), list);
    }
    EXPECT_EQ(RankList(), RankList::parse("none"));
}

TEST(RankList, WhatIsNoListIsRefused) {
    for (const auto* text : {"", " ", "0,", "-1", "2-1", "one", "0;1", "all,0", "1-", "99999999999"})
        EXPECT_THAT([&] { RankList::parse(text); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr(std::string("\"") + text + "\""),
                                                    HasSubstr("ranks"), Not(HasSubstr("processors")))))
            << text;
}

}  // namespace
}  // namespace dtrain::cluster
