// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a static Program of the same network, run by the Executor with the same initial values, batches and
// dropout: the same bits, step by step, but where norms of all gradients are summed up in another order. Its
// own values are checked elsewhere (tests/program). Where tensors are on a GPU the Executor computes on the
// CPU all the same: losses within 1e-4, parameters within 5e-5, with Adam and with pooling within 1e-3.
#include <gtest/gtest.h>

#include "against_program.hpp"
#include "digit_like.hpp"
#include "networks.hpp"

namespace dtrain::nn {
namespace {

constexpr float with_adam_or_pooling = 1e-3F;

std::string mlp_logits(Program& program, const std::string& x) {
    const auto hidden = layers::fc(program, layers::flatten(program, x), 32, {.activation = "relu"});
    const auto dropped = layers::dropout(program, hidden, 0.2, {.seed = 7});
    return layers::fc(program, layers::tanh(program, layers::fc(program, dropped, 8)), 4, {.name = "last"});
}

void check(const dtrain::Optimizer& optimizer, const OptimizerOptions& options = {}, float tolerance = 0,
           float gpu_tolerance = 5e-5F) {
    seed(7);
    Sequential network{Flatten(),
                       Linear(16, 32),
                       ReLU(),
                       Dropout(0.2),
                       Linear(32, 8),
                       Tanh(),
                       Linear(8, 4, {.name = "last"})};
    const auto data = digit_like(45);
    expect_same_training(network, {.logits = mlp_logits,
                                   .data = data,
                                   .sample = {4, 4},
                                   .optimizer = optimizer,
                                   .options = options,
                                   .tolerance = tolerance,
                                   .gpu_tolerance = gpu_tolerance});
}

TEST(AgainstPrograms, Adam) {
    check(Adam{0.01}, {}, 0, with_adam_or_pooling);
}

TEST(AgainstPrograms, MomentumWithScheduleAndDecay) {
    check(Momentum{.learning_rate = 0.05, .nesterov = true},
          {.schedule = LearningRateSchedule{ExponentialDecay{0.05, 5, 0.9}},
           .clipping = ClipByNorm{0.5},
           .regularisation = L2Decay{1e-3}});
}

TEST(AgainstPrograms, AdamW) {
    check(AdamW{.learning_rate = 0.01, .without_decay = {"fc_0.bias"}}, {.clipping = ClipByValue{-0.1, 0.1}},
          0, with_adam_or_pooling);
}

TEST(AgainstPrograms, AGlobalNormIsNearlyTheSame) {
    check(Momentum{0.05}, {.clipping = ClipByGlobalNorm{0.3}}, 1e-5F);
}

TEST(AgainstPrograms, Sgd) {
    check(Sgd{0.1});
}

Var image_logits(Program& program, const Var& x) {
    const auto first = layers::relu(program, layers::conv2d(program, x, 4, {3, 5}, 1, {1, 2}));
    const auto pooled = layers::max_pool2d(program, first, 2);
    const auto second = layers::relu(program, layers::conv2d(program, pooled, 6, 3, {2, 1}));
    const auto averaged = layers::avg_pool2d(program, second, {1, 2});
    return layers::fc(program, layers::flatten(program, averaged), 4);
}

void check_images(const dtrain::Optimizer& optimizer) {
    seed(7);
    auto network = image_network();
    const auto data = digit_like(45, 64);
    expect_same_training(network, {.logits = image_logits,
                                   .data = data,
                                   .sample = {1, 8, 8},
                                   .optimizer = optimizer,
                                   .gpu_tolerance = with_adam_or_pooling});
}

TEST(AgainstPrograms, ImagesWithSgd) {
    check_images(Sgd{0.1});
}

TEST(AgainstPrograms, ImagesWithAdam) {
    check_images(Adam{0.01});
}

Var word_logits(Program& program, const Var& ids) {
    const auto words = layers::embedding(program, ids, 10, 8, {.padding_idx = 3});
    const auto normal = layers::layer_norm(program, words, {.axis = 2});
    const auto hidden = layers::tanh(program, layers::fc(program, layers::flatten(program, normal), 16));
    return layers::fc(program, layers::layer_norm(program, hidden, {.epsilon = 1e-3}), 4);
}

void check_words(const dtrain::Optimizer& optimizer, float gpu_tolerance = 5e-5F) {
    seed(7);
    WordNetwork network;
    const auto data = word_like(45);
    expect_same_training(network, {.logits = word_logits,
                                   .data = data,
                                   .sample = {5},
                                   .type = DataType::int64,
                                   .optimizer = optimizer,
                                   .gpu_tolerance = gpu_tolerance});
}

TEST(AgainstPrograms, WordsWithSgd) {
    check_words(Sgd{0.1});
}

TEST(AgainstPrograms, WordsWithAdam) {
    check_words(Adam{0.01}, with_adam_or_pooling);
}

// What is put together and taken apart, and probabilities that are made before the loss.
std::string mixed_logits(Program& program, const std::string& x) {
    const auto parts = layers::split(program, x, {10, 6}, 1);
    const auto left = layers::sigmoid(program, layers::fc(program, parts[0], 8));
    const auto right = layers::softmax(program, layers::fc(program, parts[1], 8));
    const auto both = layers::concat(program, {left, layers::scale(program, right, 3, 1)}, 1);
    const auto ratio =
        layers::divide(program, both, layers::scale(program, layers::square(program, both), 1, 2));
    return layers::fc(program, ratio, 4);
}

class MixedNetwork : public Layer {
  public:
    Tensor forward(const Tensor& x) override {
        const auto parts = split(x, {10, -1}, -1);
        const auto right = softmax_(right_(parts[1]));
        const auto both = concat({sigmoid(left_(parts[0])), scale(right, 3, 1)}, 1);
        return last_(both / scale(square(both), 1, 2));
    }

  private:
    Linear& left_ = add<Linear>(10, 8);
    Linear& right_ = add<Linear>(6, 8);
    Softmax& softmax_ = add<Softmax>();
    Linear& last_ = add<Linear>(16, 4);
};

TEST(AgainstPrograms, PartsWithAdam) {
    seed(7);
    MixedNetwork network;
    const auto data = digit_like(45);
    expect_same_training(network, {.logits = mixed_logits,
                                   .data = data,
                                   .sample = {16},
                                   .optimizer = Adam{0.01},
                                   .gpu_tolerance = with_adam_or_pooling});
}

}  // namespace
}  // namespace dtrain::nn
