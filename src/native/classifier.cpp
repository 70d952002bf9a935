// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/classifier.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/layers.hpp>

#include "model/sample_feeder.hpp"

namespace dtrain::native {
namespace {

constexpr model::FedNames fed_names{fed_x, fed_label, fed_weight};

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
    return std::make_unique<model::SampleFeeder>(train_, sampling, fed_names);
}

std::unique_ptr<Feeder> ClassifierTask::test_feeder(const DistributedSampler::Options& sampling) const {
    return std::make_unique<model::SampleFeeder>(test_, sampling, fed_names);
}

}  // namespace dtrain::native
