// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: products of float32, on the same stand-in or GPU, within the tolerances stated here. What products
// of rounded factors are, exactly, tests/gpu looks at.
#include <cmath>

#include "gpu/a_gpu.hpp"
#include "program/optim/scaled_training.hpp"

namespace dtrain {
namespace {

class Float16Training : public tests::OnAGpu {
  protected:
    static State on_gpu(const TrainedNetwork& network, const Program& program, ComputeType products) {
        return trained(network, program, {.device = Device::gpu(0), .products = products});
    }

    /// A classifier whose loss is so small that float16 has no number for its gradients; the rate makes up
    /// for it.
    static TrainedNetwork faint() {
        return {"Faint",
                [](Program& program, std::int64_t rows) {
                    auto made = make_classifier(rows, "tanh");
                    program = made.program;
                    const auto loss = layers::scale(program, made.cross_entropy.loss, 0x1p-40);
                    minimize(program, loss, Sgd{.learning_rate = 0x1p37});
                    return loss;
                },
                feed_samples};
    }

    static double distance(const State& a, const State& b, const std::string& name) {
        const auto of_a = a.find(name)->view.as<float>();
        const auto of_b = b.find(name)->view.as<float>();
        double squares = 0;
        for (std::size_t i = 0; i < of_a.size(); ++i)
            squares += std::pow(static_cast<double>(of_a[i]) - of_b[i], 2);
        return std::sqrt(squares);
    }
};

// Factors keep 11 bits: what 24 steps have changed differs by 5 in 100 at most (the sums that biases learn
// from nearly cancel), by more than nothing, and, in an MLP, by half of what it does with the 8
// bits of bfloat16.
TEST_F(Float16Training, IsNearlyThatOfFloat32) {
    for (const auto& network : {with_sgd(), image_classifier()}) {
        const auto plain = built(network);
        const State beginning(plain, 5);
        const auto exact = on_gpu(network, plain, ComputeType::float32);
        const auto coarse = on_gpu(network, plain, ComputeType::bfloat16);
        const auto rounded = on_gpu(network, with_loss_scaling(plain), ComputeType::float16);
        for (const auto& tensor : exact.tensors()) {
            if (tensor.role != Role::parameter) continue;
            const auto apart = distance(exact, rounded, tensor.name);
            const auto learned = distance(exact, beginning, tensor.name);
            EXPECT_LT(apart, 0.05 * learned) << network.name << tensor.name;
            EXPECT_GT(apart, 1e-6 * learned) << network.name << tensor.name;
            if (network.name != "Sgd") continue;  // pooling chooses another element, whatever the bits
            EXPECT_LT(apart, 0.5 * distance(exact, coarse, tensor.name)) << tensor.name;
        }
    }
}

TEST_F(Float16Training, NeedsTheScaleWhereGradientsAreSmall) {
    const auto network = faint();
    const auto plain = built(network);
    const State beginning(plain, 5);
    const auto exact = on_gpu(network, plain, ComputeType::float32);
    const auto lost = on_gpu(network, plain, ComputeType::float16);
    const auto scaled = on_gpu(network, with_loss_scaling(plain, {.first = 0x1p50}), ComputeType::float16);
    for (const std::string weight : {"fc_0.weight", "fc_1.weight", "fc_2.weight"}) {
        const auto learned = distance(exact, beginning, weight);
        EXPECT_GT(learned, 0.01) << weight;
        EXPECT_EQ(distance(lost, beginning, weight), 0) << weight;
        EXPECT_LT(distance(scaled, exact, weight), 0.02 * learned) << weight;
    }
}

// Too large a scale is found out by the steps that it costs.
TEST_F(Float16Training, FindsAScaleThatFits) {
    const auto network = with_sgd();
    const auto program = with_loss_scaling(built(network), {.first = 0x1p30});
    const auto state = on_gpu(network, program, ComputeType::float16);
    EXPECT_LT(scale_of(state), 0x1p30F);
    EXPECT_GT(scale_of(state), 0x1p10F);
    EXPECT_GT(good_steps_of(state), 4);
    EXPECT_LT(good_steps_of(state), 24);
    EXPECT_GT(distance(state, State(program, 5), "fc_0.weight"), 0.01) << "it learns";
}

}  // namespace
}  // namespace dtrain
