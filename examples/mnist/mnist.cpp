// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// The MNIST network of Paddle's documents as a static program: 784-128-128-10 with tanh, softmax cross
// entropy, Adam 0.01, 64 samples per step and rank. The same program runs as ./mnist FOLDER, mpirun -np 4
// ./mnist FOLDER and dtrain-launch --gpus 0,1 ./mnist FOLDER; see examples/README.md for the data.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <string>

#include <dtrain/checkpoint.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parallel_env.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/sampler.hpp>

using namespace dtrain;

namespace {

constexpr std::int64_t batch = 64;  // per rank, as in the documents
constexpr std::uint64_t seed = 1;   // for the initial weights and the order of the samples

struct Settings {
    std::filesystem::path folder = "digits-idx";
    std::int64_t epochs = 10;
    std::int64_t steps = std::numeric_limits<std::int64_t>::max();  // total, if less than all epochs
    std::int64_t every = 200;                                       // steps between two printed lines
    std::string save;                                               // file of the checkpoint at the end
};

std::int64_t whole_number(const std::string& option, const std::string& text) {
    std::int64_t out = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size() || out < 0)
        throw UsageError(option + " " + text + ": it takes a whole number");
    return out;
}

Settings read_settings(int argc, char** argv) {
    Settings out;
    const std::map<std::string, std::int64_t*> numbers{
        {"--epochs", &out.epochs}, {"--steps", &out.steps}, {"--every", &out.every}};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto number = numbers.find(word);
        if (!word.starts_with("--")) {
            out.folder = word;
        } else if (number == numbers.end() && word != "--save") {
            throw UsageError(word + ": no such option; there are --epochs, --steps, --every and --save");
        } else if (++i == argc) {
            throw UsageError(word + " needs a value behind it");
        } else if (number == numbers.end()) {
            out.save = argv[i];
        } else {
            *number->second = whole_number(word, argv[i]);
        }
    }
    if (out.every == 0) throw UsageError("--every 0: it takes 1 or more steps");
    return out;
}

/// Reads the files of MNIST, or others of the same format, with or without .gz.
Dataset read_images(const std::filesystem::path& folder, const std::string& part) {
    for (const std::string end : {"", ".gz"})
        if (const auto file = folder / (part + "-images-idx3-ubyte" + end); std::filesystem::exists(file))
            return Dataset::read({.file = file, .scale = 1.0F / 255});
    throw UsageError(folder.string() + " has no " + part +
                     "-images-idx3-ubyte(.gz): give the folder with MNIST's four files, or make one with "
                     "examples/mnist/digits_as_idx.py");
}

/// Saves parameters and optimizer state in the form that `dtrain-worker --inspect` and h5py read.
void save(const std::string& file, const State& state, std::int64_t step) {
    Checkpoint out;
    out.step = step;
    out.seed = seed;
    for (const auto& [name, role, view] : state.tensors()) {
        auto& tensor = (role == Role::parameter ? out.parameters : out.optimizer)[name];
        tensor.shape = view.shape;
        if (view.type == DataType::int64)
            tensor.values =
                std::vector<std::int64_t>(view.as<std::int64_t>().begin(), view.as<std::int64_t>().end());
        else
            tensor.values = std::vector<float>(view.as<float>().begin(), view.as<float>().end());
    }
    save_checkpoint(file, out);
}

/// Fraction of the test images that are recognized, over all ranks.
double test_accuracy(Program program, const std::string& scores, const Dataset& images, const State& state,
                     const Communicator& ranks) {
    const auto counts = layers::data(program, "counts", {batch});
    const auto right = layers::correct_count(program, scores, "y", counts);
    Executor executor(for_test(program, {right}), state);
    DistributedSampler sampler({.samples = images.size(),
                                .global_batch = batch * ranks.size(),
                                .rank = ranks.rank(),
                                .ranks = ranks.size(),
                                .order = SampleOrder::sequential});
    double sum = 0;
    for (std::int64_t step = 0; step < sampler.steps(); ++step) {
        const auto part = sampler.batch(step);
        images.gather(part.samples, executor.feed<float>("x"), executor.feed<std::int64_t>("y"));
        std::ranges::copy(part.weights, executor.feed<float>("counts").begin());
        executor.run();
        sum += executor.fetch_scalar(right);
    }
    ranks.allreduce(std::span(&sum, 1));
    return sum / static_cast<double>(images.size());
}

void train(const Settings& settings, const Communicator& ranks) {
    const auto images = read_images(settings.folder, "train");
    const auto test_images = read_images(settings.folder, "t10k");

    Program network;
    const auto x = layers::data(network, "x", {batch, 28, 28});
    const auto y = layers::data(network, "y", {batch}, DataType::int64);
    const auto fc_1 = layers::fc(network, layers::flatten(network, x), 128, {.activation = "tanh"});
    const auto fc_2 = layers::fc(network, fc_1, 128, {.activation = "tanh"});
    const auto cost = layers::softmax_with_cross_entropy(network, layers::fc(network, fc_2, 10), y);

    auto program = network;
    minimize(program, cost.loss, Adam{.learning_rate = 0.01});
    Executor executor(data_parallel(program, {.ranks = ranks.size()}), State(program, seed), ranks);
    const auto pixels = executor.feed<float>(x);
    const auto digits = executor.feed<std::int64_t>(y);

    DistributedSampler sampler({.samples = images.size(),
                                .global_batch = batch * ranks.size(),
                                .rank = ranks.rank(),
                                .ranks = ranks.size(),
                                .seed = seed,
                                .last_batch = LastBatch::drop});
    const auto every = std::min(settings.every, sampler.steps());
    std::int64_t done = 0;
    for (std::int64_t epoch = 0; epoch < settings.epochs && done < settings.steps; ++epoch) {
        sampler.start_epoch(epoch);
        std::chrono::duration<double> total{0};
        auto last = std::chrono::steady_clock::now();
        for (std::int64_t step = 1; step <= sampler.steps() && done < settings.steps; ++step, ++done) {
            images.gather(sampler.batch(step - 1).samples, pixels, digits);
            executor.run();
            if (step % every != 0 || ranks.rank() != 0) continue;
            const auto now = std::chrono::steady_clock::now();
            const std::chrono::duration<double> passed = now - last;
            total += passed;
            std::printf("epoch: %d, step:%d, train_loss: %f, total time cost = %f, speed: %f\n",
                        static_cast<int>(epoch), static_cast<int>(step), executor.fetch_scalar(cost.loss),
                        total.count(), static_cast<double>(every) / passed.count());
            last = now;
        }
    }
    const auto accuracy = test_accuracy(network, cost.probabilities, test_images, executor.state(), ranks);
    if (ranks.rank() != 0) return;
    std::printf("ranks: %d, steps: %lld, test accuracy: %.4f\n", ranks.size(), static_cast<long long>(done),
                accuracy);
    if (!settings.save.empty()) save(settings.save, executor.state(), done);
}

}  // namespace

int main(int argc, char** argv) try {
    const auto settings = read_settings(argc, argv);
    const ParallelEnv env(argc, argv);
    train(settings, env.communicator());
} catch (const std::exception& error) {
    std::fprintf(stderr, "mnist: %s\n", error.what());
    return dynamic_cast<const UsageError*>(&error) != nullptr ? 2 : 1;
}
