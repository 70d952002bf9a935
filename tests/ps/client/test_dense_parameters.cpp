// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what servers that the test plays get, and the parameters that it answers with.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/channel_test.hpp"
#include "ps/client/dense_puller.hpp"
#include "ps/client/dense_pusher.hpp"
#include "ps/client/message_size.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;

/// Two servers with three and no dense parameters.
class DenseParameters : public ChannelTest {
  protected:
    void start_in(ServerMode mode) {
        auto& channel = start(mode, 2);
        messages_.emplace(channel, *clock_);
        pusher_.emplace(sizes_, *clock_, *messages_);
        puller_.emplace(sizes_, *clock_, channel);
    }

    /// "FIRST=VALUES ..." and the number of steps that end with it.
    std::string pushed(int server) {
        const auto message = got(server);
        if (!message) return "";
        MessageReader reader(message->content.bytes());
        std::string text;
        while (const auto section = reader.next())
            text += fmt::format("{}={} ", section->first, fmt::join(section->floats(section->count), ","));
        return text + std::to_string(reader.header().steps);
    }

    /// Steps of the requests that server 0 has got.
    std::vector<std::int64_t> pulls() {
        std::vector<std::int64_t> steps;
        while (const auto header = header_got(0)) {
            EXPECT_EQ(header->kind, MessageKind::pull);
            steps.push_back(header->step);
            requests_.push_back(header->request);
        }
        return steps;
    }
    /// To the oldest request that has no answer.
    void answer_with(float value) {
        answer_rows(0, requests_.front(), {{value, value, value}});
        requests_.erase(requests_.begin());
    }
    /// The number of a request that is still to be made, as requests are numbered one after the other.
    std::uint64_t next_request() { return channel_->open(1, MessageKind::count) + 1; }
    float first_value() {
        const auto values = puller_->values(0);
        return values.empty() ? 0 : values[0];
    }

    std::vector<std::size_t> sizes_{3, 0};
    std::vector<std::uint64_t> requests_;
    std::optional<PushMessages> messages_;
    std::optional<DensePusher> pusher_;
    std::optional<DensePuller> puller_;
};

TEST_F(DenseParameters, GradientsGoWithTheirStep) {
    start_in(ServerMode::sync);
    pusher_->push(0, 1, std::vector<float>{1, 2});
    pusher_->push(0, 0, std::vector<float>{4});
    EXPECT_EQ(pushed(0), "");
    messages_->send_ends(1);
    EXPECT_EQ(pushed(0), "1=1,2 0=4 1");
    EXPECT_EQ(pushed(1), "1") << "it ends the step, too";
}

TEST_F(DenseParameters, ManyGradientsDoNotWaitForTheEnd) {
    sizes_ = {full_message, 0};
    start_in(ServerMode::sync);
    pusher_->push(0, 0, std::vector<float>(full_message / sizeof(float)));
    const auto header = header_got(0);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->steps, 0U);
}

TEST_F(DenseParameters, GradientsOfMergedStepsAreSums) {
    max_merged_ = 3;
    start_in(ServerMode::async);
    for (int step = 0; step < 2; ++step) {
        pusher_->push(0, 1, std::vector<float>{1, 2});
        clock_->end_merged_step();
    }
    EXPECT_EQ(pushed(0), "");
    pusher_->write_merged();
    messages_->send_ends(clock_->send_merged_steps());
    EXPECT_EQ(pushed(0), "0=0,2,4 2");
    EXPECT_EQ(pushed(1), "2");
    pusher_->push(0, 0, std::vector<float>{8});
    clock_->end_merged_step();
    pusher_->write_merged();
    messages_->send_ends(clock_->send_merged_steps());
    EXPECT_EQ(pushed(0), "0=8,0,0 1") << "sums begin anew";
}

TEST_F(DenseParameters, AreThoseAfterTheStep) {
    start_in(ServerMode::sync);
    EXPECT_TRUE(puller_->values(0).empty()) << "nothing was requested";
    clock_->end_sent_step();
    puller_->ask_after_step();
    EXPECT_THAT(pulls(), ElementsAre(1));
    EXPECT_FALSE(got(1)) << "it has none";
    EXPECT_FALSE(puller_->have_come());
    answer_with(5);
    EXPECT_EQ(first_value(), 5);
    EXPECT_EQ(first_value(), 5) << "until they are dropped";
    EXPECT_TRUE(puller_->have_come());
    puller_->drop();
    EXPECT_TRUE(puller_->values(0).empty());
    EXPECT_THAT(pulls(), ElementsAre());
}

// With max_merged = 2 parameters may lack one step: those of step 1 do for the second, not for the third.
TEST_F(DenseParameters, ThatLackTooManyStepsAreWaitedFor) {
    max_merged_ = 2;
    start_in(ServerMode::async);
    const auto end_step = [&] {
        clock_->end_merged_step();
        clock_->send_merged_steps();
    };
    end_step();
    puller_->renew();  // one step may be missing: nothing is waited for
    EXPECT_THAT(pulls(), ElementsAre(1));
    EXPECT_EQ(first_value(), 0);
    end_step();
    answer_with(1);
    puller_->renew();
    EXPECT_EQ(first_value(), 1) << "it has the first of two steps";
    puller_->drop();
    EXPECT_THAT(pulls(), ElementsAre(2)) << "the next values are requested at once";
    end_step();
    answer_with(2);
    puller_->renew();
    EXPECT_EQ(first_value(), 2);
    puller_->drop();
    EXPECT_THAT(pulls(), ElementsAre(3));
    end_step();
    end_step();
    // Those requested after step 3 lack two of five: they are taken, and others requested.
    answer_with(3);
    answer_rows(0, next_request(), {{5, 5, 5}});
    puller_->renew();
    EXPECT_EQ(first_value(), 5);
    EXPECT_THAT(pulls(), ElementsAre(5));
}

TEST_F(DenseParameters, ThatAreCurrentAreRequestedAnew) {
    start_in(ServerMode::half_async);
    clock_->end_sent_step();
    puller_->ask_after_step();
    EXPECT_THAT(pulls(), ElementsAre(1));
    answer_with(1);
    puller_->ask_anew();
    EXPECT_THAT(pulls(), ElementsAre(1));
    answer_with(2);
    EXPECT_EQ(first_value(), 2);
}

}  // namespace
}  // namespace dtrain::ps
