// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: whatever a server answers, changed or cut, a trainer ends its step or throws an Error; it neither
// waits for ever nor reads beside the message (sanitizers see that). 2,000 trainers of each mode, with
// DTRAIN_STRESS=1 100,000.
#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/comm_error.hpp>
#include <dtrain/error.hpp>

#include "ps/client/client_test.hpp"
#include "support/fuzz.hpp"

namespace dtrain::ps {
namespace {

using Random = std::mt19937_64;

/// Hands out a damaged copy of one message, before the message itself or in its place.
class Damaging final : public comm::Transport {
  public:
    Damaging(comm::Transport& own, Random& random, int message, bool replaces)
        : own_(own), random_(random), left_(message), replaces_(replaces) {}

    int rank() const override { return own_.rank(); }
    int size() const override { return own_.size(); }
    bool is_crowded() const override { return true; }
    void send(int to, comm::MessageBytes&& content) override { own_.send(to, std::move(content)); }
    bool deliver() override { return own_.deliver(); }

    std::optional<comm::Message> receive() override {
        if (good_) return std::exchange(good_, std::nullopt);
        auto message = own_.receive();
        if (!message || left_-- != 0) return message;
        comm::Message bad{message->from, damaged(message->content.bytes())};
        if (!replaces_) good_ = std::move(message);
        return bad;
    }

    bool has_damaged() const { return left_ < 0; }

  private:
    comm::MessageBytes damaged(std::span<const std::byte> bytes) {
        // The lowest and highest numbers are where sums overflow.
        static constexpr std::array<std::uint8_t, 4> edges{0, 0x7f, 0x80, 0xff};
        // In memory of exactly that length, so that a sanitizer sees a byte too many.
        comm::MessageBytes copy;
        copy.resize(one_in(4) ? random_() % bytes.size() : bytes.size());
        std::ranges::copy(bytes.first(copy.size()), copy.data());
        for (auto changes = copy.size() == 0 ? 0 : 1 + random_() % 3; changes > 0; --changes) {
            const auto from =
                copy.size() > 6 && !one_in(10) ? 6 : 0;  // of another protocol nothing else is looked at
            const auto at =
                static_cast<std::size_t>(from) + random_() % (copy.size() - static_cast<std::size_t>(from));
            const auto value = one_in(2) ? edges[random_() % 4] : static_cast<std::uint8_t>(random_());
            const auto count = one_in(2) ? std::min<std::size_t>(8, copy.size() - at) : 1;
            std::ranges::fill(copy.bytes().subspan(at, count), std::byte{value});
        }
        return copy;
    }

    bool one_in(std::uint64_t times) { return random_() % times == 0; }

    comm::Transport& own_;
    Random& random_;
    int left_;
    bool replaces_;
    std::optional<comm::Message> good_;
};

class AnyAnswers : public ClientTest, public testing::WithParamInterface<ServerMode> {
  protected:
    /// A trainer's life of two steps.
    void train(int servers) {
        start(GetParam(), servers);
        step(1);
        prefetch({5, 6});
        rows({5, 6});
        dense();
        step(2);
        rows({6, 7, 8});
        dense();
        client_->leave();
    }
};

TEST_P(AnyAnswers, EndAStepOrAreAnError) {
    Random random(11);
    const auto rounds = tests::rounds() < 100'000 ? std::uint64_t{500} : tests::rounds();
    std::uint64_t refused = 0, trained = 0, timeouts = 0;
    deadline_ = std::chrono::seconds(1);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::optional<Damaging> damaging;
        const int message = static_cast<int>(random() % 6);
        const bool replaces = random() % 2 == 0;
        between_ = [&](comm::Transport& own) -> comm::Transport& {
            return damaging.emplace(own, random, message, replaces);
        };
        try {
            train(1 + static_cast<int>(random() % 2));
            ++trained;
        } catch (const CommunicatorTimeout& timeout) {
            // Without what it waits for only the deadline is left.
            ASSERT_TRUE(replaces) << "round " << round << ": " << timeout.what();
            ++timeouts;
        } catch (const Error&) {
            ++refused;
            EXPECT_TRUE(damaging->has_damaged()) << "round " << round << ": what is good is refused";
        }
        client_.reset();
        servers_.clear();
    }
    EXPECT_GT(refused, rounds / 20);
    EXPECT_GT(trained, rounds / 20);
    EXPECT_LT(timeouts, rounds / 50) << "what is damaged is noticed at once";
}

INSTANTIATE_TEST_SUITE_P(Modes, AnyAnswers,
                         testing::Values(ServerMode::sync, ServerMode::async, ServerMode::half_async,
                                         ServerMode::geo),
                         [](const auto& each) { return to_string(each.param); });

}  // namespace
}  // namespace dtrain::ps
