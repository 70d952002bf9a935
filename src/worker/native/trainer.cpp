// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "worker/native/state_checkpoint.hpp"

namespace dtrain::native {
namespace {

std::int64_t classes_of(const Dataset& train, const std::optional<Dataset>& test) {
    return std::max(train.classes(), test ? test->classes() : 0);
}

}  // namespace

Trainer::Trainer(const Job& job, Dataset train, std::optional<Dataset> test, Communicator communicator,
                 int threads)
    : communicator_(std::move(communicator)),
      train_data_(std::move(train)),
      test_data_(std::move(test)),
      seed_(job.train.seed),
      global_batch_(job.train.global_batch.value_or(job.train.batch * communicator_.size())),
      sampler_({train_data_.size(), global_batch_, communicator_.rank(), communicator_.size(), seed_}),
      model_(build_model(
          job.model, {sampler_.local_batch(), train_data_.features(), classes_of(train_data_, test_data_)},
          job.train.optimizer, communicator_.size())),
      state_(model_.train, seed_),
      trainer_(model_.train, state_, communicator_, {threads}),
      tester_(model_.test, state_, {}, {threads}) {
    if (test_data_ && test_data_->features() != train_data_.features())
        throw UsageError(fmt::format("training samples have {} values, but test samples {}",
                                     train_data_.features(), test_data_->features()));
    job_ = {{"model", model_.description},
            {"optimizer", name_of(job.train.optimizer)},
            {"global_batch", std::to_string(global_batch_)},
            {"seed", std::to_string(seed_)},
            {"data", fmt::format("{} samples ({:016x})", train_data_.size(), train_data_.fingerprint())}};
}

void Trainer::resume(const std::filesystem::path& file) {
    std::optional<std::string> error;
    std::array<std::int64_t, 2> position{};
    if (communicator_.rank() == 0) {
        try {
            const auto checkpoint = load_checkpoint(file);
            restore(file, checkpoint, job_, state_);
            position = {checkpoint.epoch, checkpoint.step};
        } catch (const UsageError& refused) {
            error = refused.what();
        }
    }
    throw_together(communicator_, error);
    broadcast(state_, communicator_);
    communicator_.broadcast(std::span<std::int64_t>(position));
    epoch_ = position[0];
    step_ = position[1];
}

Metrics Trainer::run(Executor& executor, const Dataset& data, DistributedSampler& sampler) {
    const auto x = executor.feed<float>(fed_x);
    const auto label = executor.feed<std::int64_t>(fed_label);
    const auto weight = executor.feed<float>(fed_weight);
    double loss = 0;
    double correct = 0;
    for (std::int64_t step = 0; step < sampler.steps(); ++step) {
        const auto batch = sampler.batch(step);
        data.gather(batch.samples, x, label);
        std::copy(batch.weights.begin(), batch.weights.end(), weight.begin());
        executor.run();
        loss += executor.fetch_scalar(model_.loss_sum);
        correct += executor.fetch_scalar(model_.correct);
    }
    const auto samples = static_cast<double>(data.size());
    std::array<double, 2> sums{loss, correct};
    communicator_.allreduce_sum(std::span<double>(sums));
    return {sums[0] / samples, sums[1] / samples, data.size()};
}

Metrics Trainer::train_epoch() {
    sampler_.start_epoch(epoch_);
    const auto metrics = run(trainer_, train_data_, sampler_);
    if (!std::isfinite(metrics.loss))
        throw_together<Error>(communicator_,
                              fmt::format("the loss is {} in epoch {}; a smaller learning_rate may help",
                                          metrics.loss, epoch_ + 1));
    ++epoch_;
    step_ += sampler_.steps();
    if (!parameters_are_identical(state_, communicator_))
        throw_together<Error>(
            communicator_,
            fmt::format("the parameters of the ranks differ after epoch {}: a rank computes wrongly",
                        epoch_));
    return metrics;
}

std::optional<Metrics> Trainer::test() {
    if (!test_data_) return std::nullopt;
    DistributedSampler sampler({test_data_->size(), global_batch_, communicator_.rank(), communicator_.size(),
                                0, SampleOrder::sequential});
    return run(tester_, *test_data_, sampler);
}

std::filesystem::path Trainer::save(const CheckpointSettings& settings) {
    const CheckpointFolder folder(settings.dir.value());
    std::optional<std::string> error;
    if (communicator_.rank() == 0) {
        try {
            Checkpoint checkpoint;
            checkpoint.epoch = epoch_;
            checkpoint.step = step_;
            checkpoint.seed = seed_;
            checkpoint.job = job_;
            store(state_, checkpoint);
            folder.save(checkpoint, settings.keep);
        } catch (const Error& failed) {
            error = failed.what();
        }
    }
    throw_together<Error>(communicator_, error);
    CheckpointHeader here;
    here.epoch = epoch_;
    return folder.path(here, CheckpointFormat::file);
}

}  // namespace dtrain::native
