// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the properties that the header promises (each sample once an epoch, equal steps, the same global
// batches for any number of ranks), checked by counting; and an order worked out by an independent Python
// program from the published SplitMix64 and Fisher-Yates.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/sampler.hpp>

namespace dtrain {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Case {
    std::int64_t samples;
    std::int64_t global_batch;
    int ranks;
};

class SamplerProperties : public testing::TestWithParam<Case> {};

std::vector<DistributedSampler> samplers_of(const Case& job, std::uint64_t seed) {
    std::vector<DistributedSampler> samplers;
    for (int rank = 0; rank < job.ranks; ++rank)
        samplers.emplace_back(
            DistributedSampler::Options{job.samples, job.global_batch, rank, job.ranks, seed});
    return samplers;
}

TEST_P(SamplerProperties, EverySampleOnceAnEpoch) {
    auto samplers = samplers_of(GetParam(), 7);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        std::map<std::int64_t, int> seen;
        for (auto& sampler : samplers) {
            sampler.start_epoch(epoch);
            for (std::int64_t step = 0; step < sampler.steps(); ++step) {
                const auto batch = sampler.batch(step);
                for (std::size_t i = 0; i < batch.samples.size(); ++i)
                    if (batch.weights[i] != 0) ++seen[batch.samples[i]];
            }
        }
        ASSERT_EQ(static_cast<std::int64_t>(seen.size()), GetParam().samples);
        EXPECT_EQ(seen.begin()->first, 0);
        EXPECT_EQ(seen.rbegin()->first, GetParam().samples - 1);
        for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1) << "sample " << sample;
    }
}

TEST_P(SamplerProperties, EqualStepsOfEqualShapeWithValidPadding) {
    const auto& job = GetParam();
    auto samplers = samplers_of(job, 7);
    for (auto& sampler : samplers) {
        EXPECT_EQ(sampler.steps(), (job.samples + job.global_batch - 1) / job.global_batch);
        EXPECT_EQ(sampler.local_batch(), samplers[0].local_batch());
        EXPECT_GE(sampler.local_batch() * job.ranks, job.global_batch);
        for (std::int64_t step = 0; step < sampler.steps(); ++step) {
            const auto batch = sampler.batch(step);
            ASSERT_EQ(static_cast<std::int64_t>(batch.samples.size()), sampler.local_batch());
            ASSERT_EQ(batch.weights.size(), batch.samples.size());
            EXPECT_EQ(std::accumulate(batch.weights.begin(), batch.weights.end(), 0.0),
                      static_cast<double>(batch.real));
            for (const auto sample : batch.samples) {
                EXPECT_GE(sample, 0);
                EXPECT_LT(sample, job.samples);
            }
        }
    }
}

TEST_P(SamplerProperties, SameGlobalBatchesAsOneRank) {
    const auto& job = GetParam();
    auto samplers = samplers_of(job, 11);
    DistributedSampler alone({job.samples, job.global_batch, 0, 1, 11});
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
        alone.start_epoch(epoch);
        for (auto& sampler : samplers) sampler.start_epoch(epoch);
        for (std::int64_t step = 0; step < alone.steps(); ++step) {
            Numbers together;
            for (auto& sampler : samplers) {
                const auto batch = sampler.batch(step);
                for (std::size_t i = 0; i < batch.samples.size(); ++i)
                    if (batch.weights[i] != 0) together.push_back(batch.samples[i]);
            }
            const auto whole = alone.batch(step);
            EXPECT_THAT(together,
                        testing::ElementsAreArray(whole.samples.first(static_cast<std::size_t>(whole.real))));
            if (job.global_batch % job.ranks == 0) {
                // Padding is part of the gradient, so it must not depend on the number of ranks either.
                Numbers slots;
                for (auto& sampler : samplers) {
                    const auto batch = sampler.batch(step);
                    slots.insert(slots.end(), batch.samples.begin(), batch.samples.end());
                }
                EXPECT_THAT(slots, testing::ElementsAreArray(whole.samples));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Jobs, SamplerProperties,
                         testing::Values(Case{1408, 64, 1}, Case{1408, 64, 2}, Case{1408, 64, 4},
                                         Case{389, 64, 4}, Case{1408, 64, 3}, Case{100, 7, 2},
                                         Case{100, 7, 4}, Case{5, 64, 4}, Case{1, 1, 1}, Case{1, 1, 4},
                                         Case{3, 2, 8}, Case{64, 64, 64}));

TEST(Sampler, NoPaddingWhereEverythingDivides) {
    DistributedSampler sampler({1408, 64, 3, 4, 0});
    EXPECT_EQ(sampler.steps(), 22);
    EXPECT_EQ(sampler.local_batch(), 16);
    for (std::int64_t step = 0; step < 22; ++step) EXPECT_EQ(sampler.batch(step).real, 16);
}

TEST(Sampler, SequentialOrder) {
    DistributedSampler sampler({5, 4, 1, 2, 9, SampleOrder::sequential});
    EXPECT_THAT(sampler.batch(0).samples, testing::ElementsAre(2, 3));
    EXPECT_EQ(sampler.batch(1).real, 0);
    EXPECT_THAT(sampler.batch(1).weights, testing::ElementsAre(0, 0));
}

TEST(Sampler, OrderDependsOnSeedAndEpochAlone) {
    EXPECT_EQ(shuffled_order(1000, 3, 5), shuffled_order(1000, 3, 5));
    std::set<Numbers> different;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
        for (std::int64_t epoch = 0; epoch < 4; ++epoch) different.insert(shuffled_order(1000, seed, epoch));
    EXPECT_EQ(different.size(), 16U);

    DistributedSampler sampler({1000, 10, 0, 1, 3});
    sampler.start_epoch(9);
    sampler.start_epoch(5);
    const auto order = shuffled_order(1000, 3, 5);
    EXPECT_THAT(sampler.batch(1).samples, testing::ElementsAreArray(order.begin() + 10, order.begin() + 20));
}

TEST(Sampler, OrderIsTheOneOfTheAlgorithm) {
    EXPECT_THAT(shuffled_order(10, 0, 0), testing::ElementsAre(1, 7, 6, 2, 0, 9, 8, 4, 5, 3));
    EXPECT_THAT(shuffled_order(10, 42, 7), testing::ElementsAre(8, 5, 0, 1, 9, 2, 6, 3, 4, 7));
}

// 10,000 shuffles of 6: each number at each position 1667 times, standard deviation 37; five of them allowed.
TEST(Sampler, ShufflesEvenly) {
    int count[6][6] = {};
    for (int epoch = 0; epoch < 10000; ++epoch) {
        const auto order = shuffled_order(6, 1, epoch);
        for (std::size_t i = 0; i < 6; ++i) ++count[i][order[i]];
    }
    for (const auto& row : count)
        for (const int times : row) EXPECT_NEAR(times, 10000.0 / 6, 5 * 37.3);
}

TEST(Sampler, RefusesNonsense) {
    EXPECT_THROW(DistributedSampler({0, 1, 0, 1, 0}), UsageError);
    EXPECT_THROW(DistributedSampler({1, 0, 0, 1, 0}), UsageError);
    EXPECT_THROW(DistributedSampler({1, 1, 1, 1, 0}), UsageError);
    EXPECT_THROW(DistributedSampler({1, 1, -1, 1, 0}), UsageError);
    EXPECT_THROW(DistributedSampler({1, 1, 0, 0, 0}), UsageError);
    DistributedSampler sampler({10, 5, 0, 1, 0});
    EXPECT_THROW(sampler.batch(2), Error);
    EXPECT_THROW(sampler.batch(-1), Error);
}

TEST_P(SamplerProperties, DroppingLeavesWholeStepsOfDifferentSamples) {
    const auto& job = GetParam();
    DistributedSampler::Options options{job.samples, job.global_batch, 0, job.ranks, 7};
    options.last_batch = LastBatch::drop;
    if (job.samples < job.global_batch) {
        EXPECT_THROW(DistributedSampler{options}, UsageError);
        return;
    }
    std::map<std::int64_t, int> seen;
    for (options.rank = 0; options.rank < job.ranks; ++options.rank) {
        DistributedSampler sampler(options);
        EXPECT_EQ(sampler.steps(), job.samples / job.global_batch);
        EXPECT_EQ(sampler.real_samples(), sampler.steps() * job.global_batch);
        for (std::int64_t step = 0; step < sampler.steps(); ++step) {
            const auto batch = sampler.batch(step);
            for (std::size_t i = 0; i < batch.samples.size(); ++i)
                if (batch.weights[i] != 0) ++seen[batch.samples[i]];
        }
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), job.samples / job.global_batch * job.global_batch);
    for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1) << "sample " << sample;
}

TEST_P(SamplerProperties, UnevenStepsHaveEachSampleOnceAndNoPadding) {
    const auto& job = GetParam();
    DistributedSampler::Options options{job.samples, job.global_batch, 0, job.ranks, 7};
    options.last_batch = LastBatch::uneven;
    if (job.global_batch % job.ranks != 0) {
        EXPECT_THROW(DistributedSampler{options}, UsageError);
        return;
    }
    std::vector<std::int64_t> dealt;
    for (options.rank = 0; options.rank < job.ranks; ++options.rank) {
        DistributedSampler sampler(options);
        EXPECT_EQ(sampler.steps(), (job.samples - 1) / job.global_batch + 1);
        EXPECT_EQ(sampler.real_samples(), job.samples);
        EXPECT_EQ(sampler.batches(), sampler.steps() - (sampler.last_batch() == 0 ? 1 : 0));
        for (std::int64_t step = 0; step < sampler.batches(); ++step) {
            const auto batch = sampler.batch(step);
            EXPECT_EQ(batch.real, step + 1 < sampler.steps() ? sampler.local_batch() : sampler.last_batch());
            EXPECT_EQ(batch.samples.size(), static_cast<std::size_t>(batch.real));
            EXPECT_TRUE(std::ranges::all_of(batch.weights, [](float weight) { return weight == 1; }));
            dealt.insert(dealt.end(), batch.samples.begin(), batch.samples.end());
        }
    }
    std::ranges::sort(dealt);
    std::vector<std::int64_t> each(static_cast<std::size_t>(job.samples));
    std::iota(each.begin(), each.end(), 0);
    EXPECT_EQ(dealt, each);
}

TEST(Sampler, RandomPaddingIsDrawnFromAllSamplesAndRepeats) {
    DistributedSampler::Options options{5, 4, 0, 1, 7};
    options.last_batch = LastBatch::random;
    DistributedSampler sampler(options);
    DistributedSampler same(options);
    options.last_batch = LastBatch::repeat;
    DistributedSampler repeating(options);
    std::set<std::int64_t> padding;
    for (std::int64_t epoch = 0; epoch < 40; ++epoch) {
        for (auto* each : {&sampler, &same, &repeating}) each->start_epoch(epoch);
        const auto batch = sampler.batch(1);
        EXPECT_EQ(batch.real, 1);
        EXPECT_EQ(Numbers(batch.samples.begin(), batch.samples.end()),
                  Numbers(same.batch(1).samples.begin(), same.batch(1).samples.end()));
        EXPECT_EQ(batch.samples[0], repeating.batch(1).samples[0]);
        for (std::size_t slot = 1; slot < 4; ++slot) {
            EXPECT_EQ(batch.weights[slot], 0);
            padding.insert(batch.samples[slot]);
        }
    }
    EXPECT_EQ(padding, (std::set<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(DistributedSampler, PartsAreTheBatchesOfSeveralRanksOneAfterTheOther) {
    for (const auto last_batch : {LastBatch::repeat, LastBatch::random, LastBatch::drop}) {
        DistributedSampler::Options options{.samples = 50, .global_batch = 12, .ranks = 5, .seed = 3};
        options.last_batch = last_batch;
        options.rank = 1;
        options.parts = 3;
        DistributedSampler together(options);
        EXPECT_EQ(together.batches(), 3 * together.steps());
        options.parts = 1;
        for (std::int64_t number = 0; number < together.batches(); ++number) {
            options.rank = static_cast<int>(1 + number % 3);
            DistributedSampler alone(options);
            const auto expected = alone.batch(number / 3);
            const auto found = together.batch(number);
            EXPECT_TRUE(std::ranges::equal(found.samples, expected.samples)) << number;
            EXPECT_TRUE(std::ranges::equal(found.weights, expected.weights)) << number;
            EXPECT_EQ(found.real, expected.real) << number;
        }
    }
    EXPECT_THROW(DistributedSampler({.samples = 9, .global_batch = 3, .rank = 2, .ranks = 3, .parts = 2}),
                 UsageError);
}

}  // namespace
}  // namespace dtrain
