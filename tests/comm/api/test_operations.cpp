// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: plain serial arithmetic over what all ranks contribute (values.hpp): the values are whole and
// small, so that every order of additions gives the same bits. Runs at 1 to 4 ranks, on one node and on
// several (DTRAIN_RANKS_PER_NODE).
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "comm/api/values.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

// Around the lengths where another way is taken (slots, window, pieces, cache lines), and some by chance.
std::vector<std::size_t> counts() {
    std::vector<std::size_t> all{0, 1, 7, 64, 1025, 4097, 16'385, 100'001};
    std::mt19937 random(7);
    for (int i = 0; i < 3; ++i) all.push_back(random() % 150'000);
    return all;
}

std::size_t sum_of(const std::vector<std::size_t>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
}

/// Whose sum depends on the order, in types that round.
template <class T>
std::vector<T> inexact_values(int rank, std::size_t count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto x =
            static_cast<float>((i * 2654435761U + static_cast<std::size_t>(rank) * 40503U) % 1000U);
        values[i] = static_cast<T>(std::is_integral_v<T> ? x : x / 7.0F + 0.01F * static_cast<float>(rank));
    }
    return values;
}

template <class T>
class Operations : public testing::Test {
  protected:
    const Communicator& world = test_world();
    const int me = world.rank();
    const int ranks = world.size();

    void expect_reduced(std::span<const T> got, Reduction reduction, std::size_t first = 0) const {
        const auto expected = reduced_values<T>(ranks, got.size(), reduction, first);
        ASSERT_TRUE(same_bits<T>(got, expected)) << ", reduction " << static_cast<int>(reduction);
    }
};

using Types = testing::Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t,
                             std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Operations, Types);

TYPED_TEST(Operations, AllReduce) {
    for (const auto count : counts()) {
        const auto shared = this->world.allocate(count * sizeof(TypeParam) + 64);
        for (const auto reduction : reductions_of<TypeParam>()) {
            auto own = values_of<TypeParam>(this->me, count);
            this->world.allreduce(std::span(own), reduction);
            this->expect_reduced(own, reduction);

            auto in_window = shared.template as<TypeParam>().subspan(64 / sizeof(TypeParam), count);
            fill(in_window, this->me);
            this->world.allreduce(in_window, reduction);
            ASSERT_TRUE(same_bits<TypeParam>(in_window, own));
        }
    }
}

// The first sums of a length are made in different ways (comm/node/faster_way.hpp).
TYPED_TEST(Operations, LongAllReducesHaveTheSameBitsWhicheverWayTheyAreMade) {
    constexpr std::size_t max = (std::size_t{600} << 10U) / sizeof(TypeParam);
    const auto given = inexact_values<TypeParam>(this->me, max);
    for (const auto count : {max / 3 + 5, max}) {
        const auto terms = std::span(given).first(count);
        std::vector<TypeParam> first;
        for (int sum = 0; sum < 8; ++sum) {
            std::vector<TypeParam> own(terms.begin(), terms.end());
            if (sum % 3 == 1)
                this->world.start_allreduce(std::span(own)).wait();
            else
                this->world.allreduce(std::span(own));
            if (first.empty()) first = own;
            ASSERT_EQ(std::memcmp(own.data(), first.data(), count * sizeof(TypeParam)), 0) << sum;
        }
    }
}

// As for AllReduce: with other memory both ways are tried in turns.
TYPED_TEST(Operations, LongOnesGiveTheSameWhicheverWayTheyAreMade) {
    const auto size = static_cast<std::size_t>(this->ranks);
    const auto rank = static_cast<std::size_t>(this->me);
    constexpr std::size_t count = (std::size_t{300} << 10U) / sizeof(TypeParam) + 5;
    const auto one = values_of<TypeParam>(this->me, count);
    const auto all = values_of<TypeParam>(this->me, count * size);
    std::vector<std::size_t> out_counts;  // longer ones to later ranks
    std::vector<std::size_t> in_counts(size, count / size * (rank + 1));
    for (std::size_t other = 0; other < size; ++other) out_counts.push_back(count / size * (other + 1));
    const auto uneven = values_of<TypeParam>(this->me, sum_of(out_counts));
    const std::size_t first_for_me = count / size * (rank * (rank + 1) / 2);

    const auto sums_of_all = reduced_values<TypeParam>(this->ranks, count, Reduction::sum, rank * count);
    const auto sums_of_one = reduced_values<TypeParam>(this->ranks, count, Reduction::sum);
    std::vector<std::vector<TypeParam>> each;  // of all ranks
    std::vector<TypeParam> gathered, expected_exchanged, expected_in;
    const auto append = [](std::vector<TypeParam>& values, const std::vector<TypeParam>& more) {
        values.insert(values.end(), more.begin(), more.end());
    };
    for (std::size_t from = 0; from < size; ++from) {
        const auto other = static_cast<int>(from);
        append(gathered, each.emplace_back(values_of<TypeParam>(other, count)));
        append(expected_exchanged, values_of<TypeParam>(other, count, rank * count));
        append(expected_in, values_of<TypeParam>(other, in_counts[from], first_for_me));
    }

    for (int round = 0; round < 6; ++round) {
        std::vector<TypeParam> part(count);
        this->world.reduce_scatter(std::span<const TypeParam>(all), std::span(part));
        ASSERT_TRUE(same_bits<TypeParam>(part, sums_of_all)) << round;

        auto reduced = one;
        this->world.reduce_shards(std::span(reduced), [&](std::size_t first, std::span<TypeParam> sums) {
            EXPECT_TRUE(same_bits<TypeParam>(sums, std::span(sums_of_one).subspan(first, sums.size())));
        });

        std::vector<TypeParam> from_all(count * size);
        this->world.all_gather(std::span<const TypeParam>(one), std::span(from_all));
        ASSERT_TRUE(same_bits<TypeParam>(from_all, gathered)) << round;
        std::vector<TypeParam> exchanged(count * size);
        this->world.start_all_to_all(std::span<const TypeParam>(all), std::span(exchanged)).wait();
        ASSERT_TRUE(same_bits<TypeParam>(exchanged, expected_exchanged)) << round;
        std::vector<TypeParam> in(sum_of(in_counts));
        this->world.all_to_allv(std::span<const TypeParam>(uneven), out_counts, std::span(in), in_counts);
        ASSERT_TRUE(same_bits<TypeParam>(in, expected_in)) << round;

        for (int root = 0; root < this->ranks; ++root) {
            auto shown = one;
            this->world.broadcast(std::span(shown), root);
            ASSERT_TRUE(same_bits<TypeParam>(shown, each[static_cast<std::size_t>(root)])) << round;
        }
    }
}

TYPED_TEST(Operations, WhatWasGivenMayBeChangedOnceTheOperationIsOver) {
    constexpr std::size_t count = (std::size_t{400} << 10U) / sizeof(TypeParam);
    std::vector<TypeParam> all(count * static_cast<std::size_t>(this->ranks));
    std::vector<TypeParam> expected;
    for (int rank = 0; rank < this->ranks; ++rank) {
        const auto values = values_of<TypeParam>(rank, count);
        expected.insert(expected.end(), values.begin(), values.end());
    }
    for (int round = 0; round < 24; ++round) {
        auto own = values_of<TypeParam>(this->me, count);
        this->world.all_gather(std::span<const TypeParam>(own), std::span(all));
        std::ranges::fill(own, static_cast<TypeParam>(77));
        ASSERT_TRUE(same_bits<TypeParam>(all, expected)) << round;
    }
}

TYPED_TEST(Operations, ManyExchangesOfDifferentLengthsAtATime) {
    const auto size = static_cast<std::size_t>(this->ranks);
    const auto length = [](std::size_t from, std::size_t to) {
        return (std::size_t{200} << 10U) / sizeof(TypeParam) + 100 * from + 1000 * to;
    };
    std::vector<std::size_t> out_counts, in_counts;
    for (std::size_t other = 0; other < size; ++other) {
        out_counts.push_back(length(static_cast<std::size_t>(this->me), other));
        in_counts.push_back(length(other, static_cast<std::size_t>(this->me)));
    }
    const auto out = values_of<TypeParam>(this->me, sum_of(out_counts));
    std::vector<std::vector<TypeParam>> in(10, std::vector<TypeParam>(sum_of(in_counts)));
    std::vector<Request> requests;
    for (auto& received : in)
        requests.push_back(this->world.start_all_to_allv(std::span<const TypeParam>(out), out_counts,
                                                         std::span(received), in_counts));
    for (auto& request : requests) request.wait();
    std::vector<TypeParam> expected;
    for (std::size_t from = 0; from < size; ++from) {
        std::size_t first = 0;
        for (std::size_t to = 0; to < static_cast<std::size_t>(this->me); ++to) first += length(from, to);
        const auto sent = values_of<TypeParam>(static_cast<int>(from), in_counts[from], first);
        expected.insert(expected.end(), sent.begin(), sent.end());
    }
    for (const auto& received : in) ASSERT_EQ(received, expected);
}

TYPED_TEST(Operations, AllReduceOfBuffersThatOnlySomeRanksHaveInTheWindow) {
    const std::size_t count = 30'000;
    const auto shared = this->world.allocate((count + 8) * sizeof(TypeParam));
    std::vector<TypeParam> own(count);
    // In the window on rank 0 only, then everywhere but at another offset on rank 0.
    auto buffer = this->me == 0 ? shared.template as<TypeParam>().first(count) : std::span(own);
    for (int round = 0; round < 2; ++round) {
        fill(buffer, this->me);
        this->world.allreduce(buffer);
        this->expect_reduced(buffer, Reduction::sum);
        buffer = shared.template as<TypeParam>().subspan(this->me == 0 ? 8 : 0, count);
    }
}

TYPED_TEST(Operations, ReduceScatter) {
    const auto size = static_cast<std::size_t>(this->ranks);
    const auto rank = static_cast<std::size_t>(this->me);
    for (const auto count : counts()) {
        const auto shared = this->world.allocate(count * size * sizeof(TypeParam));
        for (const auto reduction : reductions_of<TypeParam>()) {
            const auto own = values_of<TypeParam>(this->me, count * size);
            std::vector<TypeParam> part(count);
            this->world.reduce_scatter(std::span<const TypeParam>(own), std::span(part), reduction);
            this->expect_reduced(part, reduction, rank * count);

            const auto in_window = shared.template as<TypeParam>();
            fill(in_window.first(count * size), this->me);
            std::vector<TypeParam> other(count);
            this->world.reduce_scatter(std::span<const TypeParam>(in_window.first(count * size)),
                                       std::span(other), reduction);
            EXPECT_TRUE(same_bits<TypeParam>(other, part));
        }
    }
}

TYPED_TEST(Operations, ReduceShardsCoverTheBufferOnceAndAreUsedWhenItReturns) {
    for (const auto count : counts()) {
        const auto shared = this->world.allocate(count * sizeof(TypeParam));
        const auto results = this->world.allocate(count * sizeof(TypeParam));
        const auto node = this->world.node_local();
        int first_of_node = 0;
        while (!results.reaches(first_of_node)) ++first_of_node;
        const auto copy = results.template of_rank_as<TypeParam>(first_of_node);  // one for the whole node
        for (const bool in_window : {false, true}) {
            auto own = values_of<TypeParam>(this->me, count);
            auto buffer = in_window ? shared.template as<TypeParam>().first(count) : std::span(own);
            fill(buffer, this->me);
            std::size_t used = 0;
            this->world.reduce_shards(buffer, [&](std::size_t first, std::span<TypeParam> sums) {
                std::copy(sums.begin(), sums.end(), copy.begin() + static_cast<std::ptrdiff_t>(first));
                used += sums.size();
            });
            this->expect_reduced(std::span<const TypeParam>(copy.first(count)), Reduction::sum);
            EXPECT_EQ(used, this->world.template shard<TypeParam>(count).count);
            EXPECT_EQ(node.sum(static_cast<std::int64_t>(used)), static_cast<std::int64_t>(count));
            this->world.barrier();
        }
    }
}

TYPED_TEST(Operations, AllGather) {
    for (const auto count : counts()) {
        const auto own = values_of<TypeParam>(this->me, count);
        std::vector<TypeParam> all(count * static_cast<std::size_t>(this->ranks));
        this->world.all_gather(std::span<const TypeParam>(own), std::span(all));
        for (int rank = 0; rank < this->ranks; ++rank) {
            const auto expected = values_of<TypeParam>(rank, count);
            ASSERT_TRUE(std::equal(
                expected.begin(), expected.end(),
                all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * count)));
        }
    }
}

TYPED_TEST(Operations, AllToAll) {
    const auto size = static_cast<std::size_t>(this->ranks);
    const auto rank = static_cast<std::size_t>(this->me);
    for (const auto count : counts()) {
        const auto out = values_of<TypeParam>(this->me, count * size);
        std::vector<TypeParam> in(count * size);
        this->world.all_to_all(std::span<const TypeParam>(out), std::span(in));
        for (std::size_t from = 0; from < size; ++from) {
            const auto expected = values_of<TypeParam>(static_cast<int>(from), count, rank * count);
            ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                                   in.begin() + static_cast<std::ptrdiff_t>(from * count)))
                << "from " << from << ", " << count;
        }
    }
}

TYPED_TEST(Operations, AllToAllOfDifferentLengths) {
    const auto length = [](int from, int to, int round) {
        const auto mixed = static_cast<std::size_t>(from) * 7919 + static_cast<std::size_t>(to) * 104'729 +
                           static_cast<std::size_t>(round) * 31;
        return round == 0 ? mixed % 3 : mixed % 50'000;
    };
    for (int round = 0; round < 5; ++round) {
        std::vector<std::size_t> out_counts;
        std::vector<std::size_t> in_counts;
        std::vector<TypeParam> out;
        std::vector<TypeParam> expected;
        for (int other = 0; other < this->ranks; ++other) {
            out_counts.push_back(length(this->me, other, round));
            in_counts.push_back(length(other, this->me, round));
            const auto sent =
                values_of<TypeParam>(this->me, out_counts.back(), static_cast<std::size_t>(other));
            out.insert(out.end(), sent.begin(), sent.end());
            const auto taken =
                values_of<TypeParam>(other, in_counts.back(), static_cast<std::size_t>(this->me));
            expected.insert(expected.end(), taken.begin(), taken.end());
        }
        std::vector<TypeParam> in(expected.size());
        this->world.all_to_allv(std::span<const TypeParam>(out), out_counts, std::span(in), in_counts);
        ASSERT_EQ(in, expected);
    }
}

TYPED_TEST(Operations, BroadcastFromEveryRank) {
    for (const auto count : counts()) {
        const auto shared = this->world.allocate(count * sizeof(TypeParam));
        for (int root = 0; root < this->ranks; ++root) {
            const auto expected = values_of<TypeParam>(root, count);
            auto own = values_of<TypeParam>(this->me, count);
            this->world.broadcast(std::span(own), root);
            ASSERT_EQ(own, expected);
            const auto in_window = shared.template as<TypeParam>().first(count);
            fill(in_window, this->me);
            this->world.broadcast(in_window, root);
            ASSERT_TRUE(std::equal(expected.begin(), expected.end(), in_window.begin()));
        }
    }
}

TYPED_TEST(Operations, MessagesGoRound) {
    const int next = (this->me + 1) % this->ranks;
    const int previous = (this->me + this->ranks - 1) % this->ranks;
    for (const auto count : counts()) {
        const auto own = values_of<TypeParam>(this->me, count);
        std::vector<TypeParam> taken(count);
        auto sent = this->world.start_send(std::span<const TypeParam>(own), next, 3);
        this->world.receive(std::span(taken), previous, 3);
        sent.wait();
        ASSERT_EQ(taken, values_of<TypeParam>(previous, count));
    }
}

}  // namespace
}  // namespace dtrain
