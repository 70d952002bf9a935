// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: what include/dtrain/model.hpp says is refused, each with its type of exception and a text that has
// the value; a refused call leaves the model as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/model.hpp>

#include "small_models.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

TEST(ModelRefusals, NothingGoesBeforePrepare) {
    const tests::TemporaryFolder folder;
    const auto data = three_classes(10);
    auto model = small_model();
    EXPECT_THAT(message_of<NotPreparedError>([&] { model.fit(data); }), HasSubstr("fit(): "));
    EXPECT_THROW(model.evaluate(data), NotPreparedError);
    EXPECT_THROW(model.predict(data), NotPreparedError);
    EXPECT_THROW(model.save(folder / "a.h5"), NotPreparedError);
    EXPECT_THROW(model.load(folder / "a.h5"), NotPreparedError);
    EXPECT_THROW(model.load_newest(folder.path()), NotPreparedError);
    EXPECT_THROW(model.checkpoint(), NotPreparedError);
    EXPECT_THROW(model.state(), NotPreparedError);
    EXPECT_FALSE(std::filesystem::exists(folder / "a.h5"));
}

TEST(ModelRefusals, OptionsOutOfRange) {
    const auto data = three_classes(10);
    auto model = prepared_model();
    EXPECT_THAT(message_of([&] { model.fit(data, {.batch_size = 0}); }), HasSubstr("batch_size is 0"));
    EXPECT_THAT(message_of([&] { model.fit(data, {.epochs = -1}); }), HasSubstr("epochs is -1"));
    EXPECT_THAT(message_of([&] { model.evaluate(data, {.batch_size = -3}); }), HasSubstr("batch_size is -3"));
    EXPECT_THAT(message_of([&] { model.predict(data, {.batch_size = 0}); }), HasSubstr("batch_size is 0"));
    EXPECT_EQ(model.steps_done(), 0);
    auto parts = prepared_model({.virtual_ranks = 4});
    EXPECT_THAT(message_of([&] { parts.fit(data, {.batch_size = 3}); }), HasSubstr("needs 4 samples"));
}

TEST(ModelRefusals, LocalSgdBesideWhatItDoesNotGoWith) {
    EXPECT_EQ(message_of([] { small_model({.local_sgd = -1}); }),
              "local_sgd is -1; it must be 1 or more steps, or 0 for none");
    EXPECT_THAT(message_of([] { small_model({.virtual_ranks = 4, .local_sgd = 2}); }),
                HasSubstr("local_sgd is 2 and virtual_ranks 4; they exclude each other"));
    EXPECT_THAT(message_of([] { small_model({.local_sgd = 2, .products = ComputeType::float16}); }),
                HasSubstr("local_sgd is 2 and products are of float16"));
    auto model = small_model({.local_sgd = 2});
    EXPECT_THAT(message_of<ProgramError>([&] { model.prepare(Ftrl{}, CrossEntropyLoss{}); }),
                HasSubstr("FTRL"));
}

TEST(ModelRefusals, SamplesOfAnotherShape) {
    const Dataset wide(std::vector<float>(10, 0), {0, 1}, 5);
    const Samples none{{"x", std::span<const float>()}, {"label", std::span<const std::int64_t>()}};
    auto model = prepared_model();
    EXPECT_THAT(message_of<SampleError>([&] { model.fit(wide); }),
                testing::AllOf(HasSubstr("5 float32 values"), HasSubstr("'x' is 4 float32 of [4]")));
    EXPECT_THAT(message_of<SampleError>([&] { model.fit(none); }), HasSubstr("no samples"));
    EXPECT_THAT(message_of<SampleError>([&] { model.fit(three_classes(10), {.eval = wide}); }),
                HasSubstr("5 float32 values"));
    EXPECT_EQ(model.steps_done(), 0) << "refused before the first step";
}

TEST(ModelRefusals, SpansThatDoNotFit) {
    auto model = prepared_model();
    const std::vector<float> x(12, 0);
    const std::vector<std::int64_t> labels{0, 1, 2};
    const std::span<const float> xs(x);
    const std::span<const std::int64_t> ys(labels);
    const auto refusal = [&](const Samples& samples) {
        return message_of<SampleError>([&] { model.evaluate(samples); });
    };
    EXPECT_EQ(refusal({{"x", xs}, {"label", ys}}), "");
    EXPECT_THAT(refusal({{"x", xs}}), HasSubstr("no values for the model's 'label'"));
    EXPECT_THAT(refusal({{"x", xs}, {"label", xs}}),
                HasSubstr("'label' are float32, but the model has int64"));
    EXPECT_THAT(refusal({{"x", xs.first(11)}, {"label", ys}}), HasSubstr("no whole samples"));
    EXPECT_THAT(refusal({{"x", xs.first(8)}, {"label", ys}}), HasSubstr("3 samples, but there are 2"));
    EXPECT_THAT(refusal({{"x", xs}, {"label", ys}, {"y", ys}}), HasSubstr("'y', but the model has no such"));
    EXPECT_EQ(model.predict({{"x", xs}}).shape, (Shape{3, 3})) << "labels are not needed";
}

TEST(ModelRefusals, NetworksThatDoNotFit) {
    const auto refusal = [](const SimpleNetwork& network) {
        return message_of<UsageError>([&] { Model(network, {"x", {4}}, {"label", {}, DataType::int64}); });
    };
    EXPECT_THAT(refusal([](Program&, const std::string&) { return "nowhere"; }), HasSubstr("nowhere"));
    EXPECT_THAT(refusal([](Program& p, const std::string& x) { return layers::mean(p, x); }),
                HasSubstr("[1] for a batch of 2; it must be float32 [2, ...]"));
    EXPECT_THAT(
        refusal([](Program& p, const std::string& x) {
            const auto batch = p.variable(x).shape[0];
            return layers::reshape(p, layers::fc(p, layers::reshape(p, x, {1, -1}), batch), {batch, 1});
        }),
        HasSubstr("parameters must not depend on the batch"));
    EXPECT_THAT(refusal({}), HasSubstr("function given is empty"));
    EXPECT_THAT(message_of([] {
                    Model([](Program& p, const std::string& x) { return layers::fc(p, x, 2); },
                          {"x", {4}, DataType::int32}, {"label"});
                }),
                HasSubstr("'x' is int32"));
}

TEST(ModelRefusals, LossesAndMetricsThatDoNotFit) {
    auto model = small_model();
    EXPECT_THROW(model.prepare(Sgd{}, MSELoss{}), ProgramError) << "labels are whole numbers";
    EXPECT_THAT(message_of([&] { model.prepare(Sgd{}, CrossEntropyLoss{}, {AreaUnderCurve{}}); }),
                HasSubstr("one float32 of 'fc_1.out' for each sample"));
    EXPECT_THROW(model.fit(three_classes(10)), NotPreparedError);
    Model without_label(
        [](Program& p, const std::vector<std::string>& in) { return layers::fc(p, in[0], 2); }, {{"x", {4}}},
        {});
    EXPECT_THAT(message_of([&] { without_label.prepare(Sgd{}, CrossEntropyLoss{}); }),
                HasSubstr("needs one label, but the model has 0"));
    const Network nothing = [](Program&, const std::vector<std::string>&) { return ""; };
    EXPECT_THAT(message_of([&] { Model(nothing, {}, {}); }), HasSubstr("one input at least"));
}

TEST(ModelRefusals, ALossThatIsNoNumber) {
    std::vector<float> x(16, 1e20F);
    const Dataset data(std::move(x), {0, 1, 2, 0}, 4);
    Model model([](Program& p, const std::string& in) { return layers::fc(p, in, 3); }, {"x", {4}},
                {"label", {}, DataType::int64});
    model.prepare(Sgd{1e29}, CrossEntropyLoss{});
    EXPECT_THAT(message_of<Error>([&] { model.fit(data, {.epochs = 5, .batch_size = 2}); }),
                HasSubstr("smaller learning_rate"));
}

TEST(ModelRefusals, CheckpointsOfOthersNameTheFirstDifference) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model();
    model.fit(three_classes(30), {.epochs = 2});
    model.save(folder / "model.h5");

    const auto refusal = [&](Model& other) {
        const auto before = other.checkpoint();
        const auto message = message_of([&] { other.load(folder / "model.h5"); });
        EXPECT_EQ(other.checkpoint(), before) << "a refused checkpoint changes nothing";
        return message;
    };
    const auto with = [](std::int64_t width, const std::string& activation) {
        Model other(
            [=](Program& p, const std::string& x) {
                return layers::fc(p, layers::fc(p, x, width, {.activation = activation}), 3);
            },
            {"x", {4}}, {"label", {}, DataType::int64});
        other.prepare(Adam{}, CrossEntropyLoss{});
        return other;
    };
    auto same = with(8, "tanh");
    EXPECT_EQ(message_of([&] { same.load(folder / "model.h5"); }), "") << "metrics and rates may be others";
    EXPECT_EQ(parameters_checksum(same.state()), parameters_checksum(model.state()));
    auto wider = with(9, "tanh");
    EXPECT_THAT(refusal(wider),
                HasSubstr("fc_0.weight is float32 [4, 8], but this program's model needs float32 [4, 9]"));
    auto relu = with(8, "relu");
    EXPECT_THAT(refusal(relu),
                testing::AllOf(HasSubstr("made with operator 00"), HasSubstr("tanh"), HasSubstr("relu")));
    auto sgd = prepared_model({}, Sgd{});
    EXPECT_THAT(refusal(sgd), HasSubstr("made with optimizer adam, but this program has sgd"));
    EXPECT_THAT(message_of([&] { model.load(folder / "none.h5"); }), HasSubstr("none.h5"));
}

TEST(ModelRefusals, ADamagedCheckpointChangesNothing) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model();
    model.fit(three_classes(30), {.epochs = 1});
    model.save(folder / "model", CheckpointFormat::directory);
    const auto shard = folder / "model/shard-0000.h5";
    auto bytes = tests::bytes_of(shard);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);  // found when all values are read already
    tests::write_bytes(shard, bytes);
    auto other = prepared_model({.seed = 3});
    const auto before = other.checkpoint();
    EXPECT_THROW(other.load(folder / "model"), UsageError);
    EXPECT_EQ(other.checkpoint(), before);
}

}  // namespace
}  // namespace dtrain
