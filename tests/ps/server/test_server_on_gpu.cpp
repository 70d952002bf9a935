// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the text that the CPU's kernel has for wrong data, found in an update after it was made; what was
// saved on one device has the same bits on the other.
#include <gmock/gmock.h>

#include "gpu/a_gpu.hpp"
#include "program/state/state_access.hpp"
#include "ps/job/saving_server.hpp"
#include "ps/small_server.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Each update looks at a label that is none.
DensePart failing_zeros(int sources) {
    Program program;
    const auto x = layers::data(program, "x", {2, 1});
    minimize(program, layers::reduce_sum(program, layers::fc(program, x, 2, {.name = "fc"})), Sgd{1});
    DistributeTranspiler transpiler;
    transpiler.transpile(program, {.pservers = "a:1", .trainers = sources});
    std::vector<VariableBlock> blocks;
    for (const auto& placement : transpiler.placements()) blocks.push_back(placement.block);
    auto server_program = transpiler.get_pserver_program("a:1");
    server_program.add({.name = "logits", .shape = {2, 10}, .role = Role::optimizer_state});
    server_program.add({.name = "label",
                        .shape = {2},
                        .type = DataType::int64,
                        .role = Role::optimizer_state,
                        .initializer = {.kind = Initializer::Kind::constant, .value = 10}});
    layers::softmax_with_cross_entropy(server_program, "logits", "label");
    return {server_program, blocks, sources, 1, 1, Device::gpu(0)};
}

class ServerOnAGpu : public tests::OnAGpu {
  protected:
    void start(ServerMode mode) {
        ServerOptions options{.mode = mode, .trainers = {1, 2}, .layout = "x"};
        transports_ = comm::local_transports(3);
        server_.emplace(options, failing_zeros(mode == ServerMode::sync ? 2 : 1), std::vector<ServerTable>(),
                        *transports_[0]);
        for (const int rank : {1, 2}) {
            auto join = message(rank, {.kind = MessageKind::join});
            join.add_text("x");
            send(std::move(join));
            EXPECT_EQ(next_answer(rank), "accept");
        }
    }

    MessageWriter message(int rank, const MessageHeader& header) {
        return {*transports_[static_cast<std::size_t>(rank)], header};
    }
    void send(MessageWriter&& writer) {
        writer.send(0);
        while (auto each = transports_[0]->receive()) take_and_answer(*server_, std::move(*each));
    }
    void push(int rank) {
        auto writer = message(rank, {.kind = MessageKind::push, .steps = 1});
        std::ranges::fill(writer.add_dense(0, 4), 1.0F);
        send(std::move(writer));
    }
    void pull(int rank, std::int64_t step) {
        auto writer = message(rank, {.kind = MessageKind::pull, .step = step});
        writer.ask_dense(0, 4);
        send(std::move(writer));
    }
    void save(int rank, std::int64_t step) {
        auto writer = message(rank, {.kind = MessageKind::save, .step = step});
        writer.add_text("somewhere");
        send(std::move(writer));
    }

    /// "KIND", and why for "failed".
    std::string next_answer(int rank) {
        const auto answer = transports_[static_cast<std::size_t>(rank)]->receive();
        if (!answer) return "";
        const MessageReader reader(answer->content.bytes());
        std::string text(to_string(reader.header().kind));
        if (reader.header().kind == MessageKind::failed) text.append(" ").append(reader.text());
        return text;
    }

    static auto reports_it() {
        return AllOf(StartsWith("failed an update on GPU 0, "),
                     HasSubstr(" failed: label 10 in row 0 of the batch is outside of the 10 classes 0..9"));
    }

    std::vector<std::unique_ptr<comm::Transport>> transports_;
    std::optional<Server> server_;
};

TEST_F(ServerOnAGpu, TellsWhatAnUpdateDidWrongToAllWhoAskAfterIt) {
    start(ServerMode::async);
    pull(2, 0);
    EXPECT_EQ(next_answer(2), "values");
    push(1);
    EXPECT_EQ(next_answer(1), "applied") << "nobody has waited for the GPU";
    pull(2, 0);
    EXPECT_THAT(next_answer(2), reports_it());
    pull(1, 1);
    EXPECT_THAT(next_answer(1), reports_it());
    push(1);
    EXPECT_THAT(next_answer(1), reports_it());
}

TEST_F(ServerOnAGpu, TellsItToThoseWhoWaited) {
    start(ServerMode::sync);
    push(1);
    pull(1, 1);
    EXPECT_EQ(next_answer(1), "") << "the other one has not ended its step";
    push(2);
    EXPECT_THAT(next_answer(1), reports_it());
    pull(2, 1);
    EXPECT_THAT(next_answer(2), reports_it());
}

TEST_F(ServerOnAGpu, SavesNothingOfIt) {
    start(ServerMode::async);
    push(1);
    EXPECT_EQ(next_answer(1), "applied");
    save(1, 1);
    EXPECT_THAT(next_answer(1), reports_it());
    pull(2, 0);
    EXPECT_THAT(next_answer(2), reports_it());
}

TEST_F(ServerOnAGpu, GetsNoMoreBehindASaveThanBefore) {
    using namespace tests;
    const TemporaryFolder folder;
    std::mt19937 dice(7);
    SavingServer server(0, 1, Device::gpu(0));
    const auto copied_by_a_push = [&] {
        const auto& up = program::StateAccess::on_gpu(server.server().dense().state())->gpu()->given().up;
        const auto before = up.bytes;
        server.push(dice);
        return up.bytes - before;
    };
    const auto with_parameters = copied_by_a_push();
    const auto gradients = copied_by_a_push();
    EXPECT_LT(gradients, with_parameters);
    ASSERT_THAT(server.save({.folder = folder.path()}), StartsWith("saved "));
    EXPECT_EQ(copied_by_a_push(), gradients);
}

TEST_F(ServerOnAGpu, SavesWhatServersOnCpusReadAndTheOtherWayRound) {
    using namespace tests;
    const TemporaryFolder folder;
    for (const auto& [from, to] :
         {std::pair(Device::gpu(0), Device::cpu()), std::pair(Device::cpu(), Device::gpu(0))}) {
        std::mt19937 dice(7);
        SavingServer server(0, 1, from);
        server.push(20, dice);
        const auto saved = folder / to_string(from);
        const auto answer = server.save({.folder = saved});
        ASSERT_THAT(answer, StartsWith("saved "));
        const auto info = answer.substr(answer.find(' ') + 1);
        write_manifest(saved, {&info, 1}, {});
        const auto then = content(server.server());
        SavingServer other(0, 1, to);
        EXPECT_EQ(loaded(other.plan(), saved), then) << to_string(to);

        other.load(saved);
        auto same = dice;
        server.push(5, dice);
        other.push(5, same);
        EXPECT_EQ(content(other.server()).tables, content(server.server()).tables);
        for (const auto& tensor : server.server().dense().state().tensors()) {
            if (tensor.role != Role::parameter) continue;
            const auto expected = tensor.view.as<float>();
            const auto values = other.server().dense().state().find(tensor.name)->view.as<float>();
            for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(values[i], expected[i], 5e-5) << i;
        }
    }
}

}  // namespace
}  // namespace dtrain::ps
