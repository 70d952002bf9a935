// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A network with user-defined kernels (plain loops), trained by all ranks together: y = v tanh(x W + b)
// learns the product of two of its four inputs. The lines that make it parallel are marked with "dtrain".
// ./train, mpirun -np 2 ./train; with a folder it writes checkpoints there, and resumes from the newest one:
// mpirun -np 2 ./train checkpoints
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <dtrain/data_parallel.hpp>      // dtrain
#include <dtrain/parallel_env.hpp>       // dtrain
#include <dtrain/state_checkpoints.hpp>  // dtrain

namespace {

constexpr std::size_t inputs = 4;
constexpr std::size_t hidden = 16;
constexpr int batch = 32;  // per rank
constexpr float rate = 0.2F;

float uniform(std::mt19937& random) {
    return static_cast<float>(random()) * 0x1p-31F - 1;
}

struct Parameter {
    std::vector<float> values;
    std::vector<float> gradient;

    Parameter(std::size_t size, float bound, std::mt19937& random) : values(size), gradient(size) {
        for (float& value : values) value = bound * uniform(random);
    }
};

struct Network {
    Parameter w, b, v;

    explicit Network(std::mt19937& random)
        : w(inputs * hidden, 0.5F, random), b(hidden, 0.5F, random), v(hidden, 0.5F, random) {}

    /// Adds the gradient of (y - wanted)^2 / batch; returns the square.
    float learn(const std::array<float, inputs>& x, float wanted) {
        std::array<float, hidden> h{};
        float y = 0;
        for (std::size_t j = 0; j < hidden; ++j) {
            float z = b.values[j];
            for (std::size_t i = 0; i < inputs; ++i) z += x[i] * w.values[i * hidden + j];
            h[j] = std::tanh(z);
            y += v.values[j] * h[j];
        }
        const float slope = 2 * (y - wanted) / batch;
        for (std::size_t j = 0; j < hidden; ++j) {
            const float below = slope * v.values[j] * (1 - h[j] * h[j]);
            v.gradient[j] += slope * h[j];
            b.gradient[j] += below;
            for (std::size_t i = 0; i < inputs; ++i) w.gradient[i * hidden + j] += x[i] * below;
        }
        return (y - wanted) * (y - wanted);
    }
};

}  // namespace

int main(int argc, char** argv) {
    const dtrain::ParallelEnv env(argc, argv);  // dtrain
    const auto& world = env.communicator();     // dtrain
    std::mt19937 random(static_cast<unsigned>(env.rank()));
    Network network(random);
    const std::array parameters{&network.w, &network.b, &network.v};

    std::vector<dtrain::ParameterBuffers> buffers;  // dtrain: where values and gradients are
    for (auto* each : parameters)
        buffers.push_back({std::to_string(buffers.size()), each->values, each->gradient});
    dtrain::GradientAveraging averaging(world, buffers);  // dtrain: all ranks have rank 0's values now

    std::int64_t step = 0;
    std::optional<dtrain::StateCheckpoints> checkpoints;  // dtrain
    if (argc > 1) {
        std::vector<dtrain::CheckpointBuffer> saved;  // dtrain: the content of checkpoints
        for (auto* each : parameters) saved.push_back({std::to_string(saved.size()), {}, each->values});
        checkpoints.emplace(argv[1], saved, world);
        if (const auto begin = checkpoints->load_newest({})) step = begin->step;
        random.discard(static_cast<unsigned long long>(step) * batch * inputs);
    }
    while (++step <= 200) {
        for (auto* each : parameters) std::ranges::fill(each->gradient, 0.0F);
        double loss = 0;
        for (int sample = 0; sample < batch; ++sample) {
            std::array<float, inputs> x{};
            for (float& value : x) value = uniform(random);
            loss += network.learn(x, x[0] * x[1]);
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) averaging.ready(i);  // dtrain
        averaging.finish();                                                      // dtrain
        for (auto* each : parameters)
            for (std::size_t i = 0; i < each->values.size(); ++i) each->values[i] -= rate * each->gradient[i];

        loss = world.sum(loss) / (batch * env.world_size());  // dtrain: the loss over all ranks
        if (env.rank() == 0) std::printf("step %d loss %.6f\n", static_cast<int>(step), loss);
        if (checkpoints && step % 50 == 0) checkpoints->save({.step = step, .epoch_step = step});  // dtrain
        if (checkpoints) checkpoints->progress();  // dtrain: completes it once all have written
    }
    if (checkpoints) checkpoints->finish();              // dtrain
    const bool same = averaging.values_are_identical();  // dtrain
    if (env.rank() == 0)
        std::printf("ranks %d, parameters %s\n", env.world_size(), same ? "identical" : "differ");
}
