// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: definitions. Shards cover a buffer once; nodes are numbered by their lowest ranks; loops give what
// a plain loop in the same order gives.
#include <cmath>
#include <numeric>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/launched.hpp"
#include "comm/failure/deadline.hpp"
#include "comm/failure/start_watch.hpp"
#include "comm/node/node_map.hpp"
#include "comm/node/reduce_loops.hpp"
#include "comm/node/staged.hpp"
#include "support/message_of.hpp"

namespace dtrain::comm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Shards, CoverABufferOnceInWholeCacheLines) {
    for (const std::size_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 1000UL, 4096UL, 100'000UL}) {
        for (int ranks = 1; ranks <= 9; ++ranks) {
            std::size_t next = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto shard = shard_of(bytes, rank, ranks);
                ASSERT_EQ(shard.first, next);
                ASSERT_TRUE(shard.first % 64 == 0 || shard.bytes == 0);
                next += shard.bytes;
            }
            ASSERT_EQ(next, bytes);
        }
    }
}

TEST(StartMark, TellsWhoHasNotComeToTheStart) {
    const auto of_rank = [](const char* local_rank, const char* size) {
        return Environment{{"PMIX_NAMESPACE", "test-" + std::to_string(::getpid())},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                           {"OMPI_COMM_WORLD_SIZE", size}};
    };
    const StartMark first(of_rank("1", "3"));
    using namespace std::chrono_literals;
    EXPECT_EQ(first.error_after(30s).message,
              "MPI_Init number 1 waited 30.0 s for rank 0 (has not come to it), rank 2 (has not come to it)");
    EXPECT_EQ(
        first.error_after(30s).operation,
        (RankError::Operation{"MPI_Init", 1, 30.0, {{0, "has not come to it"}, {2, "has not come to it"}}}));
    {
        const StartMark second(of_rank("2", "3"));
        EXPECT_EQ(first.error_after(1500ms).message,
                  "MPI_Init number 1 waited 1.5 s for rank 0 (has not come to it)");
        const StartMark third(of_rank("0", "3"));
        EXPECT_EQ(first.error_after(2s).message,
                  "MPI_Init number 1 waited 2.0 s for a rank that hangs in it");
    }
    EXPECT_THAT(first.error_after(2s).message, HasSubstr("rank 2"))
        << "a process that ends takes its mark away";
    const StartMark of_two_nodes(of_rank("2", "6"));
    EXPECT_EQ(of_two_nodes.error_after(2s).message,
              "MPI_Init number 1 waited 2.0 s for local rank 0 of this node (has not come to it)");
    EXPECT_THAT(of_two_nodes.error_after(2s).operation.value().missing, IsEmpty())
        << "its number in the job is unknown";
    EXPECT_EQ(StartMark(Environment{}).error_after(2s).message,
              "MPI_Init number 1 waited 2.0 s for other ranks");
}

TEST(NodeMap, NumbersNodesByTheirLowestRanks) {
    const auto map = make_node_map({0, 1, 0, 1, 4}, 3);
    EXPECT_THAT(map.node_of, ElementsAre(0, 1, 0, 1, 2));
    EXPECT_EQ(map.nodes(), 3);
    EXPECT_THAT(map.ranks_of[1], ElementsAre(1, 3));
    EXPECT_EQ(map.node, 1);
    EXPECT_EQ(map.node_rank, 1);
    EXPECT_THAT(map.neighbours(), ElementsAre(1, 3));
}

TEST(ReduceLoops, AddInTheOrderOfTheSources) {
    for (const std::size_t sources : {1UL, 2UL, 3UL, 5UL}) {
        for (const std::size_t count : {0UL, 1UL, 100UL, 1024UL, 3001UL}) {
            std::vector<std::vector<float>> values(sources, std::vector<float>(count));
            std::vector<const std::byte*> from;
            for (std::size_t s = 0; s < sources; ++s) {
                for (std::size_t i = 0; i < count; ++i)
                    values[s][i] =
                        std::sin(static_cast<float>(i * 7 + s)) * std::pow(10.0F, static_cast<float>(s));
                from.push_back(std::as_bytes(std::span(values[s])).data());
            }
            std::vector<float> expected(count);
            for (std::size_t i = 0; i < count; ++i) {
                expected[i] = values[0][i];
                for (std::size_t s = 1; s < sources; ++s) expected[i] += values[s][i];
            }
            std::vector<float> other(count);
            // Into the last source itself and somewhere else.
            std::byte* const to[] = {std::as_writable_bytes(std::span(values.back())).data(),
                                     std::as_writable_bytes(std::span(other)).data()};
            ReduceLoop{}(from, to, count);
            EXPECT_EQ(values.back(), expected);
            EXPECT_EQ(other, expected);
        }
    }
}

TEST(ReduceLoops, IntegersWrapAndAveragesDoNot) {
    const std::vector<std::uint8_t> left(50, 200);
    const std::vector<std::uint8_t> right(50, 101);
    std::vector<std::uint8_t> out(50);
    const std::byte* const from[] = {std::as_bytes(std::span(left)).data(),
                                     std::as_bytes(std::span(right)).data()};
    std::byte* const to[] = {std::as_writable_bytes(std::span(out)).data()};
    ReduceLoop{DataType::uint8, Reduction::sum, 2}(from, to, out.size());
    EXPECT_EQ(out[49], 301 - 256);
    ReduceLoop{DataType::uint8, Reduction::average, 2}(from, to, out.size());
    EXPECT_EQ(out[49], 150);
}

TEST(ReduceLoops, ProductsOfIntegersWrapAndThoseOfHalvesAreRoundedOnce) {
    const auto product = []<class Value>(Value one, Value two, Value three) {
        const std::byte* const from[] = {std::as_bytes(std::span(&one, 1)).data(),
                                         std::as_bytes(std::span(&two, 1)).data(),
                                         std::as_bytes(std::span(&three, 1)).data()};
        Value out{};
        std::byte* const to[] = {std::as_writable_bytes(std::span(&out, 1)).data()};
        ReduceLoop{data_type_of<Value>, Reduction::product, 3}(from, to, 1);
        return out;
    };
    constexpr std::uint16_t minus_one = 65'535;
    EXPECT_EQ(product(minus_one, minus_one, minus_one), minus_one);
    EXPECT_EQ(product(std::int8_t{3}, std::int8_t{-100}, std::int8_t{-100}), 30'000 % 256);
    // Beyond float16 on the way.
    EXPECT_EQ(product(float16(4096.0F), float16(4096.0F), float16(0.0009765625F)), float16(16'384.0F));
}

TEST(ReduceLoops, BitsOfRealNumbersAreRefused) {
    const Communicator alone;
    std::vector<float> values(3);
    EXPECT_EQ(
        tests::message_of<UsageError>([&] { alone.allreduce(std::span(values), Reduction::bit_or); }),
        "allreduce (bit_or) of float32: bits are combined of integers only; floating-point numbers have "
        "sum, average, min, max and product");
    std::vector<float16> halves(3);
    EXPECT_THROW((void)alone.start_allreduce(std::span(halves), Reduction::bit_xor), UsageError);
    std::vector<std::uint16_t> bits{6, 0, 1};
    alone.allreduce(std::span(bits), Reduction::bit_xor);
    EXPECT_EQ(bits, (std::vector<std::uint16_t>{6, 0, 1}));
}

TEST(IsLaunched, ARankOfALauncherIs) {
    EXPECT_FALSE(is_launched({}));
    EXPECT_TRUE(is_launched({{"OMPI_COMM_WORLD_RANK", "0"}}));
    EXPECT_TRUE(is_launched({{"PMI_RANK", "1"}}));
    EXPECT_TRUE(is_launched({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}}));
    EXPECT_FALSE(is_launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_ID", "0"}}));
}

TEST(IsLaunched, AProgramInABatchScriptIsNot) {
    EXPECT_FALSE(is_launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
    EXPECT_FALSE(
        is_launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "4294967291"}}));
}

TEST(Deadline, ComesFromTheEnvironment) {
    EXPECT_EQ(deadline_of({}), std::chrono::seconds(1800));
    EXPECT_EQ(deadline_of({{"DTRAIN_COMM_TIMEOUT", "0"}}), std::chrono::seconds(0));
    EXPECT_THROW(deadline_of({{"DTRAIN_COMM_TIMEOUT", "soon"}}), UsageError);
}

TEST(Deadline, NamesAFewOfManyRanks) {
    std::vector<MissingRank> missing;
    for (int rank = 10; rank < 30; ++rank) missing.push_back({rank, "did not answer"});
    const auto error = timeout("broadcast", 7, std::chrono::seconds(90), missing, 0);
    EXPECT_THAT(error.what(),
                HasSubstr("broadcast number 7 waited 90.0 s for rank 10 (did not answer), rank 11"));
    EXPECT_THAT(error.what(), HasSubstr(" and 12 more"));
    EXPECT_EQ(error.missing().size(), 20U);
}

TEST(Deadline, AsTheErrorOfARank) {
    const auto late = timeout("broadcast", 7, std::chrono::seconds(90), {{1, "did not answer"}, {2, "x"}}, 0);
    const auto error = rank_error_of(late);
    EXPECT_EQ(error.kind, "dtrain::CommunicatorTimeout");
    EXPECT_EQ(error.message, late.what());
    EXPECT_EQ(error.operation,
              (RankError::Operation{"broadcast", 7, 90.0, {{1, "did not answer"}, {2, "x"}}}));
    const std::vector job_ranks{4, 5, 6};
    EXPECT_THAT(rank_error_of(late, job_ranks).operation.value().missing,
                ElementsAre(RankError::Peer{5, "did not answer"}, RankError::Peer{6, "x"}));
}

TEST(Deadline, NamesNoMoreRanksThanAnErrorHas) {
    const std::vector<MissingRank> missing(20, {3, "did not answer"});
    const auto error = rank_error_of(timeout("broadcast", 7, std::chrono::seconds(90), missing, 0));
    EXPECT_EQ(error.operation.value().missing.size(), max_named_peers);
}

}  // namespace
}  // namespace dtrain::comm
