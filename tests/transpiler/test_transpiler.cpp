// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a job whose trainers and servers take turns in this process has the bits of one executor that
// accumulates the same batches; programs as texts; what the options promise.
#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program_file.hpp>
#include <dtrain/transpiler.hpp>

#include "program/exchange/server_link.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::message_of;

constexpr std::int64_t batch = 8;
const std::vector<std::string> all_servers{"10.0.0.1:6170", "10.0.0.2:6170", "10.0.0.2:6171"};

/// 64-300-20, so that the first weight is cut into two blocks for two or three servers.
Program training_program(const Optimizer& optimizer, const OptimizerOptions& options = {},
                         bool drops = false) {
    Program program;
    const auto x = layers::data(program, "x", {batch, 64});
    const auto label = layers::data(program, "label", {batch}, DataType::int64);
    auto hidden = layers::fc(program, x, 300, {.activation = "tanh"});
    if (drops) hidden = layers::dropout(program, hidden, 0.25);
    const auto logits = layers::fc(program, hidden, 20);
    minimize(program, layers::softmax_with_cross_entropy(program, logits, label).loss, optimizer, options);
    return program;
}

void feed(Executor& executor, int number) {
    const auto x = executor.feed<float>("x");
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(number) * 101) % 97) / 97.0F - 0.5F;
    const auto label = executor.feed<std::int64_t>("label");
    for (std::size_t i = 0; i < label.size(); ++i)
        label[i] = static_cast<std::int64_t>((i * 7 + static_cast<std::size_t>(number)) % 20);
}

std::string first_of(int servers) {
    std::string list;
    for (int i = 0; i < servers; ++i) list += (i == 0 ? "" : ",") + all_servers[static_cast<std::size_t>(i)];
    return list;
}

/// What stands before or behind the exchange with servers.
Program part_of(const Program& trainer, bool before) {
    Program part;
    for (const auto& variable : trainer.variables()) part.add(variable);
    bool received = false;
    for (const auto& op : trainer.operators()) {
        received = received || op.type == "send_barrier";
        if (!program::needs_servers(op.type) && received != before) part.append(op);
    }
    return part;
}

/// Servers and trainers that take turns.
class Job {
  public:
    Job(const Program& program, const TranspileOptions& options,
        const DistributeTranspilerConfig& config = {})
        : trainers_(options.trainers), sync_(options.sync_mode) {
        DistributeTranspiler transpiler(config);
        transpiler.transpile(program, options);
        placements_ = transpiler.placements();
        for (std::size_t server = 0; server < all_servers.size(); ++server) {
            if (options.pservers.find(all_servers[server]) == std::string::npos) continue;
            const auto theirs = transpiler.get_pserver_program(all_servers[server]);
            const State state(transpiler.get_startup_program(all_servers[server]), 5);
            servers_.emplace_back(theirs, state, Communicator(), ExecutorOptions{.threads = 1});
        }
        const auto trainer = transpiler.get_trainer_program();
        for (int number = 0; number < trainers_; ++number) {
            const State state(trainer, 5);
            before_.emplace_back(part_of(trainer, true), state, Communicator(),
                                 ExecutorOptions{.threads = 1, .fuse = false});
            behind_.emplace_back(part_of(trainer, false), state, Communicator(),
                                 ExecutorOptions{.threads = 1});
        }
    }

    void step(int step) {
        for (int trainer = 0; trainer < trainers_; ++trainer) {
            auto& executor = before_[static_cast<std::size_t>(trainer)];
            feed(executor, step * trainers_ + trainer);
            executor.run();
            for (const auto& [block, server] : placements_) push(executor, trainer, block, servers_[server]);
            if (sync_ && trainer + 1 < trainers_) continue;
            for (auto& server : servers_)
                if (!server.program().operators().empty()) server.run();
            if (!sync_) pull(trainer);
        }
        for (int trainer = 0; trainer < trainers_; ++trainer) {
            if (sync_) pull(trainer);
            behind_[static_cast<std::size_t>(trainer)].run();
        }
    }

    const State& state(int trainer) const { return before_[static_cast<std::size_t>(trainer)].state(); }
    const State& server_state(std::size_t server) const { return servers_[server].state(); }
    const std::vector<DistributeTranspiler::Placement>& placements() const { return placements_; }

  private:
    void push(const Executor& executor, int trainer, const VariableBlock& block, Executor& server) const {
        auto name = gradient_name(block.name());
        if (sync_ && trainers_ > 1) name += ".trainer_" + std::to_string(trainer);
        const auto to = server.feed<float>(name);
        const auto from = executor.fetch(gradient_name(block.variable));
        std::memcpy(to.data(), from.data() + block.first_element(), to.size_bytes());
    }

    void pull(int trainer) const {
        for (const auto& [block, server] : placements_) {
            const auto from = servers_[server].state().find(block.name())->view.as<float>();
            const auto to = state(trainer).find(block.variable)->view.as<float>();
            std::memcpy(to.data() + block.first_element(), from.data(), from.size_bytes());
        }
    }

    int trainers_;
    bool sync_;
    std::vector<DistributeTranspiler::Placement> placements_;
    std::vector<Executor> servers_, before_, behind_;
};

State trained_by_one(const Program& program, int steps, int batches) {
    const auto parallel = data_parallel(program, {.micro_batches = batches});
    Executor executor(parallel, State(parallel, 5), {}, {.threads = 1});
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < batches; ++i) {
            feed(executor, step * batches + i);
            executor.accumulate();
        }
        executor.update();
    }
    return executor.state();
}

void expect_same_parameters(const State& state, const State& expected) {
    for (const auto& tensor : expected.tensors()) {
        if (tensor.role != Role::parameter) continue;
        const auto* other = state.find(tensor.name);
        ASSERT_NE(other, nullptr) << tensor.name;
        EXPECT_EQ(std::memcmp(other->view.data, tensor.view.data, tensor.view.bytes()), 0) << tensor.name;
    }
}

struct Training {
    std::string name;
    Optimizer optimizer;
    OptimizerOptions options = {};
};

class WithEachOptimizer : public testing::TestWithParam<Training> {};

TEST_P(WithEachOptimizer, ServersHaveTheBitsOfOneProcess) {
    for (const int trainers : {1, 2, 3, 4}) {
        const auto program = training_program(GetParam().optimizer, GetParam().options, trainers == 1);
        const auto expected = trained_by_one(program, 6, trainers);
        for (const int servers : {1, 2, 3}) {
            Job job(program, {.pservers = first_of(servers), .trainers = trainers});
            for (int step = 0; step < 6; ++step) job.step(step);
            for (int trainer = 0; trainer < trainers; ++trainer)
                expect_same_parameters(job.state(trainer), expected);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Transpiler, WithEachOptimizer,
    testing::Values(Training{"sgd", Sgd{0.1}}, Training{"momentum", Momentum{.learning_rate = 0.1}},
                    Training{"adagrad", Adagrad{0.1}}, Training{"adam", Adam{0.01}},
                    Training{"adamw", AdamW{.learning_rate = 0.01}}, Training{"ftrl", Ftrl{}},
                    Training{"scheduled",
                             Momentum{.learning_rate = 0.1},
                             {.schedule = LearningRateSchedule{ExponentialDecay{0.1, 2, 0.5}},
                              .clipping = ClipByValue{-0.01, 0.01},
                              .regularisation = L2Decay{1e-3}}},
                    Training{"warmed_up",
                             Sgd{0.1},
                             {.schedule = LearningRateSchedule{ExponentialDecay{0.1, 2, 0.5},
                                                               LinearWarmup{3, 0.01, 0.1}}}}),
    [](const auto& each) { return each.param.name; });

TEST(Transpiler, WithoutSyncModeEachGradientIsAnUpdate) {
    const auto program = training_program(Adam{0.01});
    Job alone(program, {.pservers = first_of(2), .sync_mode = false});
    Job two(program, {.pservers = first_of(2), .trainers = 2, .sync_mode = false});
    for (int step = 0; step < 4; ++step) {
        alone.step(step);
        two.step(step);
    }
    expect_same_parameters(alone.state(0), trained_by_one(program, 4, 1));
    EXPECT_EQ(two.server_state(0).find("adam.step")->view.as<std::int64_t>()[0], 8);
}

TEST(Transpiler, ServersBeginWithWhatTheWholeVariablesBeginWith) {
    const auto program = training_program(Adagrad{.initial = 0.5});
    const State whole(program, 5);
    const Job job(program, {.pservers = first_of(3)});
    for (const auto& [block, server] : job.placements())
        for (const std::string suffix : {"", ".squares"}) {
            const auto name = suffix.empty() || block.count == 1
                                  ? block.name() + suffix
                                  : block.variable + suffix + ".block" + std::to_string(block.number);
            const auto part = job.server_state(server).find(name)->view.as<float>();
            const auto all = whole.find(block.variable + suffix)->view.as<float>();
            for (std::size_t i = 0; i < part.size(); ++i)
                ASSERT_EQ(part[i], all[static_cast<std::size_t>(block.first_element()) + i]) << name;
        }
}

DistributeTranspiler transpiled(const Program& program, const TranspileOptions& options,
                                const DistributeTranspilerConfig& config = {}) {
    DistributeTranspiler transpiler(config);
    transpiler.transpile(program, options);
    return transpiler;
}

TEST(Transpiler, InGeoModeTrainersUpdateAndServersAdd) {
    const auto transpiler =
        transpiled(training_program(Momentum{}), {.pservers = first_of(2), .trainers = 2, .sync_mode = false},
                   {.geo_sgd_mode = true, .geo_sgd_need_push_nums = 25});
    const auto trainer = transpiler.get_trainer_program().to_string();
    EXPECT_THAT(trainer, HasSubstr("loss_gradient() -> out=cross_entropy_0.loss@grad {value=1}\n"));
    EXPECT_THAT(trainer, HasSubstr("  momentum(parameter=fc_1.bias, gradient=fc_1.bias@grad"));
    EXPECT_THAT(trainer, HasSubstr("  exchange_changes(parameter=["));
    EXPECT_THAT(trainer, HasSubstr("{every=25}\n}\n"));
    EXPECT_EQ(transpiler.get_pserver_program(all_servers[1]).to_string(),
              R"(program {
  parameter fc_1.bias float32 [20] = 0
  data fc_1.bias@grad float32 [20]
  parameter fc_0.weight.block1 float32 [32, 300] = uniform +-0.128388 of fc_0.weight from 9600
  data fc_0.weight.block1@grad float32 [32, 300]
  parameter fc_0.bias float32 [300] = 0
  data fc_0.bias@grad float32 [300]
  sgd(parameter=fc_1.bias, gradient=fc_1.bias@grad) -> parameter=fc_1.bias {learning_rate=1}
  sgd(parameter=fc_0.weight.block1, gradient=fc_0.weight.block1@grad) -> parameter=fc_0.weight.block1 {learning_rate=1}
  sgd(parameter=fc_0.bias, gradient=fc_0.bias@grad) -> parameter=fc_0.bias {learning_rate=1}
}
)");
    EXPECT_EQ(message_of([] {
                  transpiled(training_program(Momentum{}), {.pservers = first_of(2)}, {.geo_sgd_mode = true});
              }),
              "transpile: geo_sgd_mode goes with sync_mode = false: trainers update by themselves");
    EXPECT_EQ(message_of([] {
                  transpiled(training_program(Momentum{}), {.pservers = first_of(2), .sync_mode = false},
                             {.geo_sgd_mode = true, .geo_sgd_need_push_nums = 0});
              }),
              "transpile: geo_sgd_need_push_nums is 0, expected at least 1");
}

TEST(Transpiler, ProgramsAreReadable) {
    const auto transpiler =
        transpiled(training_program(Momentum{}), {.trainer_id = 1, .pservers = first_of(2), .trainers = 2});
    const auto trainer = transpiler.get_trainer_program().to_string();
    EXPECT_THAT(trainer, HasSubstr("  send(gradient=fc_0.weight@grad) ->  "
                                   "{rows=[32, 32], servers=[0, 1], sync_mode=1}\n"));
    EXPECT_THAT(trainer, HasSubstr("  recv(parameter=fc_0.weight) -> parameter=fc_0.weight "
                                   "{rows=[32, 32], servers=[0, 1], sync_mode=1}\n"));
    EXPECT_THAT(trainer, HasSubstr("loss_gradient() -> out=cross_entropy_0.loss@grad {value=0.5}"));
    EXPECT_THAT(trainer, Not(HasSubstr("velocity")));
    EXPECT_EQ(transpiler.get_pserver_program(all_servers[1]).to_string(),
              R"(program {
  data fc_1.bias@grad.trainer_0 float32 [20]
  data fc_1.bias@grad.trainer_1 float32 [20]
  gradient fc_1.bias@grad float32 [20]
  data fc_0.weight.block1@grad.trainer_0 float32 [32, 300]
  data fc_0.weight.block1@grad.trainer_1 float32 [32, 300]
  gradient fc_0.weight.block1@grad float32 [32, 300]
  data fc_0.bias@grad.trainer_0 float32 [300]
  data fc_0.bias@grad.trainer_1 float32 [300]
  gradient fc_0.bias@grad float32 [300]
  parameter fc_1.bias float32 [20] = 0
  optimizer_state fc_1.bias.velocity float32 [20] = 0
  parameter fc_0.weight.block1 float32 [32, 300] = uniform +-0.128388 of fc_0.weight from 9600
  optimizer_state fc_0.weight.velocity.block1 float32 [32, 300] = 0
  parameter fc_0.bias float32 [300] = 0
  optimizer_state fc_0.bias.velocity float32 [300] = 0
  sum(x=[fc_1.bias@grad.trainer_0, fc_1.bias@grad.trainer_1]) -> out=fc_1.bias@grad
  sum(x=[fc_0.weight.block1@grad.trainer_0, fc_0.weight.block1@grad.trainer_1]) -> out=fc_0.weight.block1@grad
  sum(x=[fc_0.bias@grad.trainer_0, fc_0.bias@grad.trainer_1]) -> out=fc_0.bias@grad
  momentum(parameter=fc_1.bias, gradient=fc_1.bias@grad, velocity=fc_1.bias.velocity) -> parameter=fc_1.bias, velocity=fc_1.bias.velocity {learning_rate=0.01, mu=0.9, nesterov=0}
  momentum(parameter=fc_0.weight.block1, gradient=fc_0.weight.block1@grad, velocity=fc_0.weight.velocity.block1) -> parameter=fc_0.weight.block1, velocity=fc_0.weight.velocity.block1 {learning_rate=0.01, mu=0.9, nesterov=0}
  momentum(parameter=fc_0.bias, gradient=fc_0.bias@grad, velocity=fc_0.bias.velocity) -> parameter=fc_0.bias, velocity=fc_0.bias.velocity {learning_rate=0.01, mu=0.9, nesterov=0}
}
)");
    EXPECT_EQ(transpiler.get_startup_program(all_servers[1]).to_string(),
              R"(program {
  parameter fc_1.bias float32 [20] = 0
  optimizer_state fc_1.bias.velocity float32 [20] = 0
  parameter fc_0.weight.block1 float32 [32, 300] = uniform +-0.128388 of fc_0.weight from 9600
  optimizer_state fc_0.weight.velocity.block1 float32 [32, 300] = 0
  parameter fc_0.bias float32 [300] = 0
  optimizer_state fc_0.bias.velocity float32 [300] = 0
}
)");
    for (const auto& program :
         {transpiler.get_trainer_program(), transpiler.get_pserver_program(all_servers[1])})
        EXPECT_EQ(parse_program(program_text(program), "a test"), program);
}

TEST(Transpiler, KeepsMetricsOnTheTrainers) {
    auto program = training_program(Sgd{});
    const auto probability = layers::sigmoid(program, "x");
    layers::reduce_sum(program, probability);
    const auto transpiler = transpiled(program, {.pservers = first_of(2)});
    EXPECT_EQ(transpiler.get_trainer_program().operators().back().type, "reduce_sum");
    EXPECT_THAT(transpiler.get_pserver_program(all_servers[0]).to_string(), Not(HasSubstr("sigmoid")));
}

TEST(Transpiler, PlacesBlocksAsTheSplitMethodSays) {
    const auto program = training_program(Sgd{});
    const auto servers_of = [&](const TranspileOptions& options,
                                const DistributeTranspilerConfig& config = {}) {
        std::vector<std::size_t> servers;
        for (const auto& placement : transpiled(program, options, config).placements())
            servers.push_back(placement.server);
        return servers;
    };
    const auto last = [](const std::vector<VariableBlock>& blocks,
                         const std::vector<std::string>& endpoints) {
        return std::vector<std::string>(blocks.size(), endpoints.back());
    };
    // fc_1.weight, fc_1.bias, two blocks of fc_0.weight and fc_0.bias, in the order of the backward pass.
    EXPECT_THAT(servers_of({.pservers = first_of(2)}), ElementsAre(0, 1, 0, 1, 1));
    // fc_0.weight has more elements than all others together.
    EXPECT_THAT(servers_of({.pservers = first_of(2), .slice_var_up = false}), ElementsAre(1, 1, 0, 1));
    EXPECT_THAT(servers_of({.pservers = first_of(2)}, {.slice_var_up = false}), ElementsAre(1, 1, 0, 1));
    EXPECT_THAT(servers_of({.pservers = first_of(2), .split_method = round_robin_by_name}),
                ElementsAre(0, 1, 1, 0, 0));
    EXPECT_THAT(servers_of({.pservers = first_of(2)}, {.split_method = last}), ElementsAre(1, 1, 1, 1, 1));
    EXPECT_THAT(servers_of({.pservers = first_of(3), .split_method = last}, {.split_method = hash_name}),
                ElementsAre(2, 2, 2, 2, 2));
    const auto by_name = servers_of({.pservers = first_of(2), .split_method = hash_name});
    EXPECT_EQ(by_name.size(), 5U);
}

TEST(Transpiler, SaysWhatIsWrongWithOptions) {
    const auto program = training_program(Sgd{});
    const auto wrong = [&](const TranspileOptions& options, const DistributeTranspilerConfig& config = {}) {
        return message_of([&] { transpiled(program, options, config); });
    };
    EXPECT_EQ(wrong({.pservers = ""}), "transpile: pservers is empty, expected ip:port,ip:port,...");
    EXPECT_EQ(wrong({.pservers = "a:1,b"}), "transpile: pservers names 'b', expected ip:port");
    EXPECT_THAT(wrong({.pservers = "a:1,b:99999"}), HasSubstr("99999"));
    EXPECT_EQ(wrong({.pservers = "a:1,b:2,a:1"}), "transpile: pservers names a:1 twice");
    EXPECT_EQ(wrong({.pservers = "a:1", .trainers = 0}), "transpile: 0 trainers, expected at least 1");
    EXPECT_EQ(wrong({.trainer_id = 2, .pservers = "a:1", .trainers = 2}),
              "transpile: trainer_id is 2, expected 0 to 1");
    EXPECT_EQ(wrong({.pservers = "a:1"}, {.min_block_size = 4096}),
              "transpile: min_block_size is 4096, expected at least 8192");
    const auto nowhere = [](const auto& blocks, const auto&) {
        return std::vector<std::string>(blocks.size(), "c:3");
    };
    EXPECT_EQ(wrong({.pservers = "a:1,b:2", .split_method = nowhere}),
              "transpile: the split method puts fc_1.weight on 'c:3', which is none of a:1, b:2");
    const auto too_few = [](const auto&, const auto& endpoints) { return endpoints; };
    EXPECT_EQ(wrong({.pservers = "a:1,b:2", .split_method = too_few}),
              "transpile: the split method told servers of 2 blocks, there are 5");
}

/// Rows of a table for any id, and one small layer.
Program sparse_program(const OptimizerOptions& options = {}) {
    Program program;
    const auto ids = layers::data(program, "ids", {8}, DataType::int64);
    const auto out = layers::embedding(program, ids, 100'000'000'000, 4,
                                       {.is_sparse = true, .is_distributed = true, .name = "table"});
    minimize(program, layers::mean(program, layers::fc(program, out, 2)), Momentum{.mu = 0.5}, options);
    return program;
}

TEST(Transpiler, SaysWhatServersCannotDo) {
    const auto wrong = [](const Program& program, int servers, bool slices = true) {
        return message_of(
            [&] { transpiled(program, {.pservers = first_of(servers), .slice_var_up = slices}); });
    };
    const auto by_norm = training_program(Sgd{}, {.clipping = ClipByNorm{1}});
    EXPECT_THAT(
        wrong(by_norm, 2),
        HasSubstr("operator clip_by_norm needs the whole of 'fc_0.weight', of which this server has block"));
    EXPECT_EQ(wrong(by_norm, 2, false), "");
    EXPECT_EQ(wrong(by_norm, 1), "");
    const auto by_global_norm = training_program(Sgd{}, {.clipping = ClipByGlobalNorm{1}});
    EXPECT_THAT(wrong(by_global_norm, 2, false),
                HasSubstr("operator global_norm_factor needs the whole of several parameters"));
    EXPECT_EQ(wrong(by_global_norm, 1), "");
    EXPECT_EQ(wrong(with_loss_scaling(training_program(Sgd{})), 1),
              "transpile: the program scales its loss, and parameter servers leave out no steps");
    Program untrained;
    layers::fc(untrained, layers::data(untrained, "x", {8, 64}), 10);
    EXPECT_EQ(wrong(untrained, 1), "transpile: the program updates nothing; call minimize() first");
    EXPECT_EQ(
        wrong(sparse_program({.clipping = ClipByValue{}}), 1),
        "transpile: operator clip_by_value changes the gradient of the table 'table.weight'; servers can "
        "only let it decay");
    auto read = sparse_program();
    layers::reduce_sum(read, "table.weight");
    EXPECT_EQ(wrong(read, 1), "");  // behind the gradients
    Program also_read;
    const auto ids = layers::data(also_read, "ids", {8}, DataType::int64);
    const auto out = layers::embedding(also_read, ids, 10, 4, {.is_sparse = true, .name = "table"});
    layers::reduce_sum(also_read, "table.weight");
    minimize(also_read, layers::mean(also_read, out), Sgd{});
    EXPECT_THAT(wrong(also_read, 1), HasSubstr("operator reduce_sum reads the table 'table.weight'"));
}

TEST(Transpiler, SaysThatATrainersProgramIsOneAlready) {
    const auto transpiled_twice = [](const DistributeTranspilerConfig& config,
                                     const TranspileOptions& options) {
        DistributeTranspiler transpiler(config);
        transpiler.transpile(training_program(Sgd{}), options);
        const auto once = transpiler.get_trainer_program();
        const auto message = message_of([&] { transpiler.transpile(once, options); });
        EXPECT_EQ(transpiler.get_trainer_program(), once) << "what there was is still there";
        return message;
    };
    const TranspileOptions synchronous{.pservers = first_of(2)};
    const TranspileOptions asynchronous{.pservers = first_of(2), .sync_mode = false};
    const TranspileOptions collective{.trainer_endpoints = first_of(2), .current_endpoint = first_of(1)};
    for (const auto& [config, options, found] :
         std::vector<std::tuple<DistributeTranspilerConfig, TranspileOptions, std::string>>{
             {{}, synchronous, "send"},
             {{}, asynchronous, "send"},
             {{.geo_sgd_mode = true}, asynchronous, "exchange_changes"},
             {{.mode = "nccl2"}, collective, "allreduce_start"}})
        EXPECT_EQ(transpiled_twice(config, options),
                  "transpile: this is a trainer's program already, it has '" + found +
                      "'; give transpile() the program that minimize() has made");
}

TEST(Transpiler, SpreadsTheRowsOfSparseTables) {
    const auto program = sparse_program(
        {.schedule = LearningRateSchedule{ExponentialDecay{0.1, 2, 0.5}}, .regularisation = L2Decay{0.25}});
    const auto transpiler = transpiled(program, {.pservers = first_of(3), .trainers = 2});
    ASSERT_EQ(transpiler.tables().size(), 1U);
    const auto& table = transpiler.tables()[0];
    EXPECT_EQ(table.parameter, "table.weight");
    EXPECT_EQ(table.rows, 100'000'000'000);
    EXPECT_EQ(table.width, 4);
    EXPECT_TRUE(table.any_id);
    EXPECT_EQ(std::get<Momentum>(table.optimizer).mu, 0.5);
    EXPECT_EQ(std::get<L2Decay>(table.regularisation).coefficient, 0.25);
    EXPECT_EQ(table.learning_rate, "learning_rate");
    const auto trainer = transpiler.get_trainer_program();
    EXPECT_FALSE(trainer.has("table.weight"));
    EXPECT_THAT(trainer.to_string(),
                HasSubstr("pull_rows(ids=ids) -> out=table.out {fed=1, is_test=0, padding=-1, rows=-1, "
                          "table=\"table.weight\", width=4}"));
    EXPECT_THAT(trainer.to_string(),
                HasSubstr("push_rows(ids=ids, gradient=table.out@grad) ->  {last=1, padding=-1, "
                          "table=\"table.weight\"}"));
    // The first layer's blocks are elsewhere; the rows go by the rate here too.
    for (std::size_t server = 0; server < 3; ++server)
        EXPECT_TRUE(transpiler.get_pserver_program(all_servers[server]).has("learning_rate")) << server;
}

TEST(Transpiler, PushesSayWhatWasClickedOn) {
    auto program = sparse_program();
    layers::data(program, "click", {4});
    EXPECT_THAT(
        transpiled(program, {.pservers = first_of(1), .click = "click"}).get_trainer_program().to_string(),
        HasSubstr("push_rows(ids=ids, gradient=table.out@grad, click=click)"));
    EXPECT_THAT(
        message_of<ProgramError>([&] { transpiled(program, {.pservers = first_of(1), .click = "clicked"}); }),
        HasSubstr("clicked"));
    layers::data(program, "three", {3});
    EXPECT_THAT(
        message_of<ProgramError>([&] { transpiled(program, {.pservers = first_of(1), .click = "three"}); }),
        HasSubstr("click 'three' is float32 [3], expected a number for equally many ids each"));
}

TEST(Transpiler, GlobalNormsOnOneServerHaveTheBitsOfOneProcess) {
    const auto program = training_program(Sgd{0.1}, {.clipping = ClipByGlobalNorm{0.1}});
    const auto expected = trained_by_one(program, 4, 2);
    Job job(program, {.pservers = first_of(1), .trainers = 2});
    for (int step = 0; step < 4; ++step) job.step(step);
    expect_same_parameters(job.state(0), expected);
}

const TranspileOptions two_trainers{.trainer_id = 1,
                                    .trainer_endpoints = "192.168.1.1:6170,192.168.1.2:6170",
                                    .current_endpoint = "192.168.1.2:6170"};

TEST(Transpiler, TrainersWithoutServersAverageTheirGradients) {
    const auto program = training_program(Momentum{});
    for (const char* mode : {"nccl2", "collective"}) {
        const auto transpiler = transpiled(program, two_trainers, {.mode = mode});
        EXPECT_EQ(transpiler.get_trainer_program().to_string(),
                  data_parallel(program, {.ranks = 2}).to_string());
        EXPECT_EQ(transpiler.trainers(), 2);
        EXPECT_THAT(transpiler.placements(), testing::IsEmpty());
        for (const auto& action :
             {&DistributeTranspiler::get_pserver_program, &DistributeTranspiler::get_startup_program})
            EXPECT_THAT(message_of([&] { (transpiler.*action)("a:1"); }),
                        HasSubstr(std::string(mode) + "\" has no parameter servers"));
    }
}

TEST(Transpiler, SaysWhatIsWrongWithOptionsOfTrainersWithoutServers) {
    const auto program = training_program(Sgd{});
    const auto wrong = [&](const auto& change, DistributeTranspilerConfig config = {.mode = "nccl2"}) {
        auto options = two_trainers;
        change(options, config);
        return message_of([&] { transpiled(program, options, config); });
    };
    using Options = TranspileOptions;
    using Config = DistributeTranspilerConfig;
    EXPECT_EQ(wrong([](Options& options, Config&) { options.sync_mode = false; }),
              "transpile: mode \"nccl2\" is synchronous: sync_mode = false goes with parameter servers, mode "
              "\"pserver\"");
    EXPECT_THAT(wrong([](Options& options, Config&) { options.pservers = "a:1"; }),
                HasSubstr("pservers is 'a:1'; leave it out"));
    EXPECT_THAT(wrong([](Options&, Config& config) { config.geo_sgd_mode = true; }),
                HasSubstr("geo_sgd_mode"));
    EXPECT_EQ(wrong([](Options& options, Config&) { options.trainer_endpoints = ""; }),
              "transpile: trainer_endpoints is empty, expected ip:port,ip:port,...");
    EXPECT_EQ(wrong([](Options& options, Config&) { options.trainer_endpoints = "a:1,a:1"; }),
              "transpile: trainer_endpoints names a:1 twice");
    EXPECT_EQ(wrong([](Options& options, Config&) { options.trainer_id = 2; }),
              "transpile: trainer_id is 2, expected 0 to 1, as trainer_endpoints are 2");
    EXPECT_EQ(wrong([](Options& options, Config&) { options.trainer_id = 0; }),
              "transpile: current_endpoint is '192.168.1.2:6170', but trainer_endpoints give trainer 0 the "
              "endpoint 192.168.1.1:6170");
    EXPECT_THAT(wrong([](Options& options, Config&) { options.current_endpoint = ""; }),
                HasSubstr("current_endpoint is ''"));
    EXPECT_EQ(wrong([](Options&, Config& config) { config.mode = "nccl"; }),
              "transpile: mode is \"nccl\", expected \"pserver\", \"nccl2\" or \"collective\"");
    EXPECT_THAT(wrong([](Options& options, Config& config) {
                    config.mode = "pserver";
                    options.pservers = "a:1";
                }),
                HasSubstr("in mode \"pserver\", which wants a number of trainers"));
}

TEST(Transpiler, AveragesParametersInCollectiveModeLocalSgd) {
    const auto program = training_program(Adam{});
    const auto made = [&](const DistributeTranspilerConfig& config) {
        return transpiled(program, two_trainers, config).get_trainer_program();
    };
    EXPECT_EQ(made({.mode = "collective", .collective_mode = "local_sgd", .local_sgd_steps = 4}),
              with_local_sgd(program, {.ranks = 2, .every = 4}));
    EXPECT_EQ(made({.mode = "nccl2", .collective_mode = "local_sgd"}),
              with_local_sgd(program, {.ranks = 2, .every = 1}));
    EXPECT_EQ(made({.mode = "collective", .collective_mode = "grad_allreduce"}),
              data_parallel(program, {.ranks = 2}));
}

TEST(Transpiler, SaysWhatIsWrongWithLocalSgd) {
    const auto program = training_program(Sgd{});
    const auto wrong = [&](const DistributeTranspilerConfig& config, const TranspileOptions& options) {
        return message_of([&] { transpiled(program, options, config); });
    };
    EXPECT_EQ(wrong({.mode = "collective", .collective_mode = "localsgd"}, two_trainers),
              "transpile: collective_mode is \"localsgd\", expected \"grad_allreduce\" or \"local_sgd\"");
    EXPECT_EQ(
        wrong({.mode = "collective", .collective_mode = "local_sgd", .local_sgd_steps = 0}, two_trainers),
        "transpile: local_sgd_steps is 0, expected at least 1");
    EXPECT_THAT(wrong({.mode = "collective", .local_sgd_steps = 4}, two_trainers),
                HasSubstr("local_sgd_steps is 4, but gradients are averaged in every step"));
    EXPECT_THAT(wrong({.collective_mode = "local_sgd", .local_sgd_steps = 4}, {.pservers = "a:1"}),
                HasSubstr("collective_mode \"local_sgd\" and local_sgd_steps 4 go with mode \"collective\""));
    EXPECT_THAT(message_of<ProgramError>([&] {
                    transpiled(training_program(Ftrl{}), two_trainers,
                               {.mode = "collective", .collective_mode = "local_sgd"});
                }),
                HasSubstr("FTRL"));
}

TEST(Transpiler, KnowsItsServersAfterTranspilingOnly) {
    EXPECT_EQ(message_of([] { DistributeTranspiler().get_trainer_program(); }),
              "call transpile() before you ask for its programs");
    const auto transpiler = transpiled(training_program(Sgd{}), {.pservers = first_of(2)});
    EXPECT_EQ(message_of([&] { transpiler.get_pserver_program("10.0.0.9:1"); }),
              "'10.0.0.9:1' is no parameter server of this job: 10.0.0.1:6170, 10.0.0.2:6170");
}

// documents/004: "on the pserver do not run memory_optimize".
TEST(DistributeTranspiler, ServersDoNotOptimizeMemory) {
    const auto program = training_program(Adam{});
    const auto expect_refused = [&](const DistributeTranspilerConfig& config, const TranspileOptions& options,
                                    const std::string& sent) {
        DistributeTranspiler transpiler(config);
        transpiler.transpile(program, options);
        for (const auto& server : {all_servers[0], all_servers[1]}) {
            const auto its = transpiler.get_pserver_program(server);
            EXPECT_EQ(message_of([&] { Executor(its, State(its, 1), {}, {}); }), "");
            EXPECT_THAT(message_of([&] { Executor(its, State(its, 1), {}, {.memory_optimize = true}); }),
                        AllOf(HasSubstr("memory_optimize is for trainers (with skip_grads = true), and this "
                                        "program is a parameter server's: trainers send it 'fc_"),
                              HasSubstr(sent + "'; leave memory_optimize out")));
        }
    };
    for (const bool slices : {true, false}) {
        expect_refused({}, {.pservers = first_of(2), .slice_var_up = slices}, "@grad");
        expect_refused({}, {.pservers = first_of(2), .trainers = 2, .slice_var_up = slices},
                       "@grad.trainer_0");
    }
    const TranspileOptions async{.pservers = first_of(2), .trainers = 2, .sync_mode = false};
    expect_refused({}, async, "@grad");
    expect_refused({.geo_sgd_mode = true}, async, "@grad");
    EXPECT_EQ(message_of([&] { Executor(program, State(program, 1), {}, {.memory_optimize = true}); }), "");
}

}  // namespace
}  // namespace dtrain
