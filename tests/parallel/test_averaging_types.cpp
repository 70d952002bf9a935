// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what all ranks give is known to each (random numbers by seeds); the average is made here by the
// rule in words: added in the order of the ranks, 16-bit numbers in float and rounded once. Bits are
// compared. Runs at 1, 2 and 4 ranks.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/data_parallel.hpp>

#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::Each;
using testing::HasSubstr;
using tests::message_of;

template <class T>
std::vector<T> random_numbers(std::size_t count, int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<T> numbers(count);
    for (auto& number : numbers) number = static_cast<T>(static_cast<float>(random()) * 0x1p-29F - 4);
    return numbers;
}

/// @param seed_of gives the seed of a rank's numbers
template <class T, class SeedOf>
std::vector<T> average(std::size_t count, SeedOf seed_of) {
    using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
    const int ranks = test_world().size();
    std::vector<Sum> sums(count);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto numbers = random_numbers<T>(count, seed_of(rank));
        for (std::size_t i = 0; i < count; ++i)
            sums[i] = rank == 0 ? static_cast<Sum>(numbers[i]) : sums[i] + static_cast<Sum>(numbers[i]);
    }
    std::vector<T> averages;
    for (const auto sum : sums) averages.push_back(static_cast<T>(sum * (Sum{1} / static_cast<Sum>(ranks))));
    return averages;
}

template <class T>
std::string bits_of(const std::vector<T>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

std::string bits_of(const ElementSpan& elements) {
    const auto bytes = elements.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// action.operator()<Value, Gradient>(number, count) for each parameter of a network of all types.
template <class Action>
void for_each_parameter(const Action& action) {
    action.template operator()<float16, float16>(0, 3001);
    action.template operator()<float, float>(1, 5);
    action.template operator()<bfloat16, bfloat16>(2, 777);
    action.template operator()<double, double>(3, 20'000);
    action.template operator()<bfloat16, float>(4, 1000);  // 16-bit values, gradients summed in float
    action.template operator()<float16, float16>(5, 70'001);
    action.template operator()<float, bfloat16>(6, 1);
}

struct Network {
    std::array<std::vector<std::byte>, 7> values;
    std::array<std::vector<std::byte>, 7> gradients;
    std::vector<ParameterBuffers> buffers;

    explicit Network(int seed) {
        for_each_parameter([&]<class Value, class Gradient>(std::size_t number, std::size_t count) {
            values[number].resize(count * sizeof(Value));
            gradients[number].resize(count * sizeof(Gradient));
            buffers.push_back({std::to_string(number),
                               {data_type_of<Value>, values[number].data(), count},
                               {data_type_of<Gradient>, gradients[number].data(), count}});
            std::ranges::copy(random_numbers<Value>(count, seed), buffers.back().values.as<Value>().begin());
        });
    }

    /// Gradient `number` of a rank at a step.
    static int seed_of(int rank, int step, std::size_t number) {
        return 1000 * rank + 10 * step + static_cast<int>(number);
    }

    void make_gradient(std::size_t number, int step) {
        const auto seed = seed_of(test_world().rank(), step, number);
        for_each_parameter([&]<class Value, class Gradient>(std::size_t each, std::size_t count) {
            if (each == number)
                std::ranges::copy(random_numbers<Gradient>(count, seed),
                                  buffers[number].gradient.as<Gradient>().begin());
        });
    }
};

class TypesOfGradients : public testing::TestWithParam<std::int64_t> {};

TEST_P(TypesOfGradients, AreAveragedEachByItsRule) {
    Network network(1);
    GradientAveraging averaging(test_world(), network.buffers, {.bucket_bytes = GetParam()});
    std::mt19937 random(static_cast<unsigned>(test_world().rank()));  // another order on every rank
    for (int step = 0; step < 3; ++step) {
        std::array<std::size_t, 7> order{0, 1, 2, 3, 4, 5, 6};
        std::shuffle(order.begin(), order.end(), random);
        for (const auto number : order) {
            network.make_gradient(number, step);
            averaging.ready(number);
        }
        averaging.finish();
        for_each_parameter([&]<class Value, class Gradient>(std::size_t number, std::size_t count) {
            const auto expected =
                average<Gradient>(count, [&](int rank) { return Network::seed_of(rank, step, number); });
            EXPECT_EQ(bits_of(network.buffers[number].gradient), bits_of(expected))
                << "parameter " << number << ", step " << step;
        });
    }
}

TEST_P(TypesOfGradients, ThatNoRankHasAreZero) {
    Network network(1);
    GradientAveraging averaging(test_world(), network.buffers, {.bucket_bytes = GetParam()});
    for (const auto& each : network.gradients) ASSERT_FALSE(each.empty());
    for (std::size_t number = 0; number < 7; ++number) network.make_gradient(number, 1);
    averaging.ready(6);
    averaging.finish();
    for (std::size_t number = 0; number < 6; ++number)
        EXPECT_THAT(network.gradients[number], Each(std::byte{0}));
}

TEST_P(TypesOfGradients, OfSeveralBatchesAreExchangedOnce) {
    Network network(1);
    GradientAveraging averaging(test_world(), network.buffers, {.bucket_bytes = GetParam()});
    {
        const auto pause = averaging.no_sync();
        network.make_gradient(0, 1);
        averaging.ready(0);
        averaging.finish();
        EXPECT_EQ(bits_of(network.buffers[0].gradient),
                  bits_of(random_numbers<float16>(3001, Network::seed_of(test_world().rank(), 1, 0))));
    }
    averaging.ready(0);
    averaging.finish();
    EXPECT_EQ(bits_of(network.buffers[0].gradient),
              bits_of(average<float16>(3001, [](int rank) { return Network::seed_of(rank, 1, 0); })));
}

INSTANTIATE_TEST_SUITE_P(BucketBytes, TypesOfGradients, testing::Values(0, 1, 4000, 1 << 20));

TEST(TypesOfValues, AreRankZerosAndThenAveraged) {
    const int rank = test_world().rank();
    Network network(rank + 1);
    GradientAveraging averaging(test_world(), network.buffers, {.bucket_bytes = 4000});
    for_each_parameter([&]<class Value, class Gradient>(std::size_t number, std::size_t count) {
        EXPECT_EQ(bits_of(network.buffers[number].values), bits_of(random_numbers<Value>(count, 1)));
    });
    EXPECT_TRUE(averaging.values_are_identical());

    for_each_parameter([&]<class Value, class Gradient>(std::size_t number, std::size_t count) {
        std::ranges::copy(random_numbers<Value>(count, rank + 1),
                          network.buffers[number].values.as<Value>().begin());
    });
    EXPECT_EQ(averaging.values_are_identical(), test_world().size() == 1);
    averaging.average_values();
    EXPECT_TRUE(averaging.values_are_identical());
    for_each_parameter([&]<class Value, class Gradient>(std::size_t number, std::size_t count) {
        EXPECT_EQ(bits_of(network.buffers[number].values),
                  bits_of(average<Value>(count, [](int of_rank) { return of_rank + 1; })));
    });

    network.values[2].back() ^= static_cast<std::byte>(rank);  // a bit of a bfloat16
    EXPECT_EQ(averaging.values_are_identical(), test_world().size() == 1);
}

TEST(TypesOfGradients, Float16sWhoseSumIsTooLarge) {
    std::vector<float16> values(5);
    std::vector<float16> gradient(5, float16(40'000));  // two of them are infinite
    GradientAveraging averaging(test_world(), {{"w", values, gradient}});
    averaging.ready(0);
    averaging.finish();
    EXPECT_THAT(gradient, Each(float16(40'000)));
}

TEST(TypesOfGradients, WhatCannotBeAveragedIsNamed) {
    std::vector<float> floats(3);
    std::vector<std::int32_t> integers(3);
    EXPECT_EQ(message_of<UsageError>([&] {
                  GradientAveraging(test_world(), {{"w", floats, integers}});
              }),
              "parameter 'w' has int32 elements; values and gradients are float32, float64, float16 or "
              "bfloat16");
    if (test_world().size() == 1) return;
    std::vector<float16> halves(3);
    std::vector<ParameterBuffers> buffers{{"b", floats, floats}, {"w", floats, floats}};
    if (test_world().rank() == 1) buffers[1].gradient = halves;
    EXPECT_EQ(
        message_of<UsageError>([&] { GradientAveraging(test_world(), buffers); }),
        "the ranks have parameters of different names or sizes or types: number 1 is 'w' (3 float32) on "
        "rank 0 and 'w' (3 float32, gradient float16) on rank 1; build the same model everywhere");
}

TEST(ElementSpan, IsOfTheTypeOfItsElements) {
    std::array<std::uint8_t, 4> bytes{1, 2, 3, 4};
    const ElementSpan of_bytes = bytes;
    EXPECT_EQ(of_bytes.type(), DataType::uint8);
    EXPECT_EQ(of_bytes.first(3).as<std::uint8_t>().back(), 3);
    EXPECT_EQ(message_of<Error>([&] { static_cast<void>(of_bytes.as<float16>()); }),
              "uint8 elements were asked for as float16");
    std::vector<bfloat16> halves(7);
    EXPECT_EQ(ElementSpan(std::span(halves)).bytes().size(), 14U);
    EXPECT_EQ(to_string(ElementSpan(halves).type()), "bfloat16");
}

}  // namespace
}  // namespace dtrain
