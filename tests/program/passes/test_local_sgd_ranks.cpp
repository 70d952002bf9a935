// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a simulation in one process, in which as many executors as there are ranks train alone and a loop
// averages their tensors in double precision; between averages the simulated rank's own bits. Runs at 1 to 4
// ranks.
#include <cmath>
#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/runtime/classifier.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

constexpr std::size_t local_batch = 8;
constexpr double rounding = 1e-5;

std::size_t ranks() {
    return static_cast<std::size_t>(test_world().size());
}

std::size_t own_rank() {
    return static_cast<std::size_t>(test_world().rank());
}

Program classifier(const Optimizer& optimizer, const OptimizerOptions& options = {}) {
    auto made = make_classifier(static_cast<std::int64_t>(local_batch));
    minimize(made.program, made.cross_entropy.loss, optimizer, options);
    return made.program;
}

void feed_of_rank(Executor& executor, std::size_t step, std::size_t rank) {
    feed_samples(executor, (step * ranks() + rank) * local_batch);
}

Program local(const Program& program, std::int64_t every) {
    return with_local_sgd(program, {.ranks = test_world().size(), .every = every});
}

/// A rank of this job.
class Rank {
  public:
    Rank(const Program& program, std::int64_t every)
        : program_(local(program, every)),
          state_(program_, 3),
          executor_(program_, state_, test_world(), {.threads = 1, .profile = true}) {}

    void step(std::size_t number) {
        feed_of_rank(executor_, number, own_rank());
        executor_.run();
    }

    Executor& executor() { return executor_; }
    const State& state() const { return state_; }

  private:
    Program program_;
    State state_;
    Executor executor_;
};

/// All of them, without communication.
class Simulation {
  public:
    Simulation(const Program& program, std::int64_t every) : every_(every) {
        for (std::size_t rank = 0; rank < ranks(); ++rank) {
            states_.emplace_back(program, 3);
            executors_.push_back(std::make_unique<Executor>(program, states_.back(), Communicator(),
                                                            ExecutorOptions{.threads = 1}));
        }
    }

    void step(std::size_t number) {
        for (std::size_t rank = 0; rank < ranks(); ++rank) {
            feed_of_rank(*executors_[rank], number, rank);
            executors_[rank]->run();
        }
        if (++alone_ == every_) average(Role::parameter);
    }

    void average_state() {
        average(Role::parameter);
        average(Role::optimizer_state);
    }

    const State& of_this_rank() const { return states_[own_rank()]; }

  private:
    void average(Role role) {
        if (role == Role::parameter) alone_ = 0;
        for (std::size_t i = 0; i < states_.front().tensors().size(); ++i) {
            const auto& first = states_.front().tensors()[i];
            if (first.role != role || first.view.type != DataType::float32) continue;
            for (std::size_t at = 0; at < first.view.size(); ++at) {
                double sum = 0;
                for (const auto& state : states_) sum += state.tensors()[i].view.as<float>()[at];
                for (const auto& state : states_)
                    state.tensors()[i].view.as<float>()[at] =
                        static_cast<float>(sum / static_cast<double>(states_.size()));
            }
        }
    }

    std::int64_t every_;
    std::int64_t alone_ = 0;
    std::vector<State> states_;
    std::vector<std::unique_ptr<Executor>> executors_;
};

double difference_of_states(const State& given, const State& expected) {
    double largest = 0;
    for (const auto& tensor : expected.tensors()) {
        const auto& other = given.find(tensor.name)->view;
        if (tensor.view.type == DataType::int64) {
            EXPECT_EQ(other.as<std::int64_t>()[0], tensor.view.as<std::int64_t>()[0]) << tensor.name;
            continue;
        }
        for (std::size_t i = 0; i < tensor.view.size(); ++i)
            largest = std::max(
                largest, std::fabs(static_cast<double>(other.as<float>()[i]) - tensor.view.as<float>()[i]));
    }
    return largest;
}

bool have_same_bits(const State& a, const State& b) {
    return std::ranges::all_of(a.tensors(), [&](const StateTensor& tensor) {
        return std::memcmp(tensor.view.data, b.find(tensor.name)->view.data, tensor.view.bytes()) == 0;
    });
}

/// What no optimizer makes equal: false on all ranks when some tensor differs between any two.
bool are_one_state(const State& state) {
    std::uint64_t sum = 0;
    for (const auto& tensor : state.tensors())
        for (std::size_t i = 0; i < tensor.view.bytes(); ++i)
            sum = sum * 1099511628211U + static_cast<const unsigned char*>(tensor.view.data)[i];
    return test_world().all_have(static_cast<std::int64_t>(sum));
}

class LocalSgdRanks : public testing::TestWithParam<std::int64_t> {};

TEST_P(LocalSgdRanks, TrainAsTheirSimulation) {
    const std::int64_t every = GetParam();
    const Optimizer optimizers[] = {
        Sgd{.learning_rate = 0.05}, Momentum{.learning_rate = 0.01}, Adam{.learning_rate = 0.002},
        Adagrad{.learning_rate = 0.02, .initial = 0.1}, AdamW{.learning_rate = 0.002}};
    for (const auto& optimizer : optimizers) {
        SCOPED_TRACE(optimizer.index());
        const auto program = classifier(optimizer);
        Rank rank(program, every);
        Simulation simulation(program, every);
        for (std::size_t step = 0; step < 20; ++step) {
            rank.step(step);
            simulation.step(step);
            if (static_cast<std::int64_t>(step) + 1 < every) {
                EXPECT_TRUE(have_same_bits(rank.state(), simulation.of_this_rank())) << step;
            }
            const bool averaged = (static_cast<std::int64_t>(step) + 1) % every == 0 || ranks() == 1;
            EXPECT_EQ(parameters_are_identical(rank.state(), test_world()), averaged) << step;
        }
        EXPECT_LT(difference_of_states(rank.state(), simulation.of_this_rank()), rounding);
        rank.executor().average_state();
        simulation.average_state();
        EXPECT_LT(difference_of_states(rank.state(), simulation.of_this_rank()), rounding);
        EXPECT_TRUE(are_one_state(rank.state()));
        EXPECT_NE(parameters_checksum(rank.state()), parameters_checksum(State(program, 3))) << "it trains";
    }
}

INSTANTIATE_TEST_SUITE_P(Every, LocalSgdRanks, testing::Values(1, 3, 7));

TEST(LocalSgdOfRanks, OfSchedulesClippingAndDecayIsEachRanksOwn) {
    const auto program = classifier(
        Momentum{.learning_rate = 0.05},
        {.schedule = LearningRateSchedule{ExponentialDecay{.learning_rate = 0.05, .decay_steps = 5}},
         .clipping = ClipByGlobalNorm{0.5},
         .regularisation = L2Decay{0.001}});
    Rank rank(program, 4);
    Simulation simulation(program, 4);
    for (std::size_t step = 0; step < 14; ++step) {
        rank.step(step);
        simulation.step(step);
    }
    rank.executor().average_state();
    simulation.average_state();
    EXPECT_LT(difference_of_states(rank.state(), simulation.of_this_rank()), rounding);
    EXPECT_TRUE(are_one_state(rank.state()));
}

TEST(LocalSgdOfRanks, EveryStepOfALinearUpdateIsDataParallel) {
    const auto& world = test_world();
    const Optimizer optimizers[] = {Sgd{.learning_rate = 0.05}, Momentum{.learning_rate = 0.01},
                                    Momentum{.learning_rate = 0.01, .nesterov = true}};
    for (const auto& optimizer : optimizers) {
        const auto program = classifier(optimizer, {.regularisation = L2Decay{0.001}});
        Rank rank(program, 1);
        const auto together = data_parallel(program, {.ranks = world.size()});
        const State state(together, 3);
        Executor executor(together, state, world, {.threads = 1});
        for (std::size_t step = 0; step < 20; ++step) {
            rank.step(step);
            feed_of_rank(executor, step, own_rank());
            executor.run();
        }
        rank.executor().average_state();
        EXPECT_LT(difference_of_states(rank.state(), state), rounding);
        EXPECT_TRUE(parameters_are_identical(rank.state(), world));
    }
}

TEST(LocalSgdOfRanks, AverageStateBeginsTheCountAnew) {
    const auto& world = test_world();
    const bool alone = ranks() == 1;
    Rank rank(classifier(Adam{}), 3);
    rank.executor().average_state();
    EXPECT_TRUE(are_one_state(rank.state())) << "nothing was trained";
    for (std::size_t step = 0; step < 2; ++step) rank.step(step);
    EXPECT_EQ(are_one_state(rank.state()), alone);
    rank.executor().average_state();
    EXPECT_TRUE(are_one_state(rank.state()));
    const auto before = rank.state().clone();
    rank.executor().average_state();
    EXPECT_TRUE(have_same_bits(rank.state(), before));
    for (std::size_t step = 2; step < 4; ++step) {
        rank.step(step);
        EXPECT_EQ(parameters_are_identical(rank.state(), world), alone) << step;
    }
    rank.step(4);
    EXPECT_TRUE(parameters_are_identical(rank.state(), world)) << "three steps since then";
    EXPECT_EQ(are_one_state(rank.state()), alone) << "moments are each rank's own";
    rank.executor().average_state();
    EXPECT_TRUE(are_one_state(rank.state())) << "also where parameters were one already";
}

TEST(LocalSgdOfRanks, GoOnWithTheSameBitsFromAnAveragedState) {
    const auto program = local(classifier(Adam{}), 4);
    const auto train = [&](const State& state, std::size_t begin, std::size_t end) {
        Executor executor(program, state, test_world(), {.threads = 1});
        for (std::size_t step = begin; step < end; ++step) {
            feed_of_rank(executor, step, own_rank());
            executor.run();
            if (step == 5) executor.average_state();
        }
        executor.average_state();
    };
    const State undisturbed(program, 3);
    train(undisturbed, 0, 15);
    const State stopped(program, 3);
    train(stopped, 0, 6);
    // What a checkpoint has: the first rank's.
    const auto resumed = stopped.clone();
    broadcast(resumed, test_world());
    train(resumed, 6, 15);
    EXPECT_TRUE(have_same_bits(resumed, undisturbed));
}

TEST(LocalSgdOfRanks, ProfilesCountAverages) {
    Rank rank(classifier(Adam{}), 4);
    for (std::size_t step = 0; step < 10; ++step) rank.step(step);
    rank.executor().average_state();
    const auto profile = rank.executor().profile();
    const auto average = std::ranges::find(profile, "average_parameters", &OperatorTime::type);
    ASSERT_EQ(average == profile.end(), ranks() == 1);
    EXPECT_EQ(ranks() == 1 ? 3 : average->calls, 3) << "after 4 and 8 steps, and at the end";
    EXPECT_EQ(rank.executor().exchange_time() > std::chrono::nanoseconds(0), ranks() > 1);
}

TEST(LocalSgdOfRanks, AddUpBatchesOfTheirOwn) {
    const auto program = classifier(Sgd{.learning_rate = 0.05});
    Rank rank(program, 2);
    auto twice = make_classifier(static_cast<std::int64_t>(2 * local_batch));
    minimize(twice.program, twice.cross_entropy.loss, Sgd{.learning_rate = 0.1});
    const auto expected = local(twice.program, 2);
    const State state(expected, 3);
    Executor executor(expected, state, test_world(), {.threads = 1});
    for (std::size_t step = 0; step < 4; ++step) {
        const auto first = (step * ranks() + own_rank()) * 2 * local_batch;
        for (std::size_t part = 0; part < 2; ++part) {
            feed_samples(rank.executor(), first + part * local_batch);
            rank.executor().accumulate();
        }
        rank.executor().update();
        feed_samples(executor, first);
        executor.run();
    }
    EXPECT_LT(difference_of_states(rank.state(), state), rounding);
    EXPECT_TRUE(parameters_are_identical(rank.state(), test_world()));
}

TEST(LocalSgdOfRanks, AverageWholeTablesOfSparseGradients) {
    Program program;
    const auto ids = layers::data(program, "ids", {4}, DataType::int64);
    const auto y = layers::data(program, "y", {4, 3});
    const auto x = layers::embedding(program, ids, 12, 3, {.is_sparse = true, .name = "table"});
    minimize(program, layers::mse_loss(program, x, y), Adagrad{.learning_rate = 0.1});
    const auto feed = [](Executor& executor, std::size_t rank, std::size_t step) {
        const auto fed = executor.feed<std::int64_t>("ids");
        for (std::size_t i = 0; i < 4; ++i)
            fed[i] = static_cast<std::int64_t>((rank * 3 + step * 5 + i) % 12);
        const auto target = executor.feed<float>("y");
        for (std::size_t i = 0; i < 12; ++i) target[i] = static_cast<float>(i % 5) - 2;
    };
    const auto of_ranks = local(program, 2);
    const State state(of_ranks, 3);
    Executor executor(of_ranks, state, test_world(), {.threads = 1});
    std::vector<State> alone;
    for (std::size_t rank = 0; rank < ranks(); ++rank) alone.emplace_back(program, 3);
    for (std::size_t step = 0; step < 2; ++step) {
        feed(executor, own_rank(), step);
        executor.run();
    }
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        Executor one(program, alone[rank], {}, {.threads = 1});
        for (std::size_t step = 0; step < 2; ++step) {
            feed(one, rank, step);
            one.run();
        }
    }
    const auto table = state.find("table.weight")->view.as<float>();
    for (std::size_t i = 0; i < table.size(); ++i) {
        double sum = 0;
        for (const auto& of_rank : alone) sum += of_rank.find("table.weight")->view.as<float>()[i];
        EXPECT_NEAR(table[i], sum / static_cast<double>(ranks()), 1e-6) << i;
    }
}

TEST(LocalSgdOfRanks, DropAsDataParallelRanksDo) {
    Program program;
    const auto ones = layers::data(program, "ones", {4, 16});
    const auto dropped = layers::dropout(program, ones, 0.5, {.seed = 5});
    minimize(program, layers::mean(program, layers::fc(program, dropped, 3)), Sgd{});
    const auto left = [&](const Program& of_ranks) {
        Executor executor(of_ranks, State(of_ranks, 3), test_world(), {.threads = 1, .keep = {dropped}});
        std::ranges::fill(executor.feed<float>("ones"), 1.0F);
        executor.run();
        const auto values = executor.fetch(dropped);
        return std::vector<float>(values.begin(), values.end());
    };
    const auto own = left(local(program, 2));
    EXPECT_EQ(own, left(data_parallel(program, {.ranks = test_world().size()})));
    std::uint64_t hash = 0;
    for (const auto value : own) hash = hash * 3 + (value > 0 ? 1 : 0);
    EXPECT_EQ(test_world().all_have(static_cast<std::int64_t>(hash)), ranks() == 1)
        << "each rank drops others";
}

TEST(LocalSgdOfRanks, WantTheRanksThatTheyWereMadeFor) {
    const auto program = with_local_sgd(classifier(Sgd{}), {.ranks = test_world().size() + 1, .every = 2});
    EXPECT_THAT(message_of<ProgramError>([&] { Executor(program, State(program, 1), test_world()); }),
                HasSubstr("made data parallel for " + std::to_string(ranks() + 1) + " ranks"));
}

}  // namespace
}  // namespace dtrain
