// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/classifier.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/layers.hpp>

#include "io/prefetcher.hpp"

namespace dtrain::native {
namespace {

/// Straight from memory, or from disk by a thread that reads ahead.
class SampleFeeder final : public Feeder {
  public:
    SampleFeeder(std::shared_ptr<const DataSource> data, const DistributedSampler::Options& sampling)
        : Feeder(sampling), data_(std::move(data)) {
        // In memory a batch is gathered as fast as it would be copied from another thread's.
        if (data_->lookahead() > 0)
            prefetcher_ = std::make_unique<io::Prefetcher>(data_, DistributedSampler(sampling));
    }

    void bind(Executor& executor) override {
        x_ = executor.feed<float>(fed_x);
        label_ = executor.feed<std::int64_t>(fed_label);
        weight_ = executor.feed<float>(fed_weight);
    }

    void start(std::int64_t epoch, std::int64_t first_step) override {
        if (prefetcher_)
            prefetcher_->start(epoch, first_step * parts());
        else
            Feeder::start(epoch, first_step);
    }

    void feed() override {
        if (prefetcher_) {
            const auto& batch = prefetcher_->next();
            std::ranges::copy(batch.x, x_.begin());
            std::ranges::copy(batch.labels, label_.begin());
            std::ranges::copy(batch.weights, weight_.begin());
            return;
        }
        const auto batch = next_batch();
        data_->gather(batch.samples, x_, label_);
        std::ranges::copy(batch.weights, weight_.begin());
    }

  private:
    std::shared_ptr<const DataSource> data_;
    std::unique_ptr<io::Prefetcher> prefetcher_;
    std::span<float> x_;
    std::span<std::int64_t> label_;
    std::span<float> weight_;
};

}  // namespace

Model build_classifier(const ModelSettings& settings, const ClassifierSizes& sizes,
                       const Optimizer& optimizer, const Ranks& ranks, const OptimizerOptions& adjust) {
    Model model;
    auto& program = model.train;
    const auto x = layers::data(program, fed_x, {sizes.local_batch, sizes.features});
    const auto label = layers::data(program, fed_label, {sizes.local_batch}, DataType::int64);
    const auto weight = layers::data(program, fed_weight, {sizes.local_batch});

    const auto logits = layers::fc(program, append_hidden_layers(program, x, settings), sizes.classes);
    const auto entropy = layers::softmax_with_cross_entropy(program, logits, label);
    model.loss_sum = layers::weighted_sum(program, entropy.row_loss, weight);
    model.correct = layers::correct_count(program, logits, label, weight);
    model.description = layers_text(sizes.features, settings, sizes.classes);
    return completed(std::move(model), entropy.loss, optimizer, ranks, adjust);
}

ClassifierTask::ClassifierTask(ModelSettings settings, std::shared_ptr<const DataSource> train,
                               std::shared_ptr<const DataSource> test)
    : settings_(std::move(settings)), train_(std::move(train)), test_(std::move(test)) {
    if (test_ && test_->features() != train_->features())
        throw UsageError(fmt::format("training samples have {} values, but test samples {}",
                                     train_->features(), test_->features()));
}

std::string ClassifierTask::sample_description() const {
    return fmt::format("{} values each", train_->features());
}

Model ClassifierTask::build(std::int64_t local_batch, const Optimizer& optimizer, const Ranks& ranks,
                            const OptimizerOptions& adjust) const {
    const auto classes = std::max(train_->classes(), test_ ? test_->classes() : 0);
    return build_classifier(settings_, {local_batch, train_->features(), classes}, optimizer, ranks, adjust);
}

std::unique_ptr<Feeder> ClassifierTask::train_feeder(const DistributedSampler::Options& sampling) const {
    return std::make_unique<SampleFeeder>(train_, sampling);
}

std::unique_ptr<Feeder> ClassifierTask::test_feeder(const DistributedSampler::Options& sampling) const {
    return std::make_unique<SampleFeeder>(test_, sampling);
}

}  // namespace dtrain::native
