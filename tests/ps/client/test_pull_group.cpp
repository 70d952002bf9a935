// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: servers whose rows are minus the sums of what was pushed; messages are counted where they leave.
#include <array>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/client_test.hpp"
#include "ps/client/pull_group.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

class Group : public ClientTest {
  protected:
    static constexpr std::int64_t padding = 9;
    static constexpr std::int64_t max = 100;

    void SetUp() override {
        tables_ = 2;
        auto& client = start(ServerMode::sync, 2, TableOptions{});
        const std::vector<std::int64_t> ids{1, 2, 3, 4, 9};
        client.push_rows(0, ids, std::vector<float>{1, 2, 3, 4, 9}, true);
        client.push_rows(1, ids, std::vector<float>{10, 20, 30, 40, 90}, true);
        client.end_step();
        client.drop_dense_values();
        group_.emplace(client);
        group_->add(0, of(first_, -1), false);
        group_->add(1, of(second_, padding), false);
    }

    static BatchIds of(std::array<std::int64_t, 3>& ids, std::int64_t padding_id) {
        return {kernels::Integers({ids.data(), {3}, DataType::int64}), padding_id, max, "clicked"};
    }

    std::vector<float> taken(std::size_t number) {
        std::vector<float> rows(3, 77);
        group_->take(number, rows);
        return rows;
    }

    std::array<std::int64_t, 3> first_{1, 2, 1};
    std::array<std::int64_t, 3> second_{4, padding, 1};
    std::optional<PullGroup> group_;
};

TEST_F(Group, TheFirstAsksForTheRowsOfAll) {
    for (int step = 0; step < 3; ++step) {
        const auto before = pumped_->sent();
        EXPECT_THAT(taken(0), ElementsAre(-1, -2, -1));
        const auto behind = pumped_->sent();
        EXPECT_LE(behind - before, 2);
        EXPECT_THAT(taken(1), ElementsAre(-40, 0, -10));
        EXPECT_EQ(pumped_->sent(), behind);
    }
    second_ = {2, 3, 4};
    EXPECT_THAT(taken(1), ElementsAre(-20, -30, -40));
    EXPECT_THAT(taken(0), ElementsAre(-1, -2, -1));
}

TEST_F(Group, AStepThatWasNotFinishedLeavesNothing) {
    EXPECT_THAT(taken(0), ElementsAre(-1, -2, -1));
    second_ = {3, 3, 3};
    EXPECT_THAT(taken(0), ElementsAre(-1, -2, -1));
    EXPECT_THAT(taken(1), ElementsAre(-30, -30, -30));
    second_ = {3, 3, max};
    const auto before = pumped_->sent();
    EXPECT_THAT(message_of<Error>([&] { taken(0); }),
                HasSubstr("'clicked' has the id 100, and the table has rows 0 to 99"));
    EXPECT_EQ(pumped_->sent(), before);
    second_ = {4, padding, padding};
    EXPECT_THAT(taken(0), ElementsAre(-1, -2, -1));
    EXPECT_THAT(taken(1), ElementsAre(-40, 0, 0));
    client_->leave();
}

}  // namespace
}  // namespace dtrain::ps
