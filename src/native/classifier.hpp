// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <dtrain/dataset.hpp>

#include "native/model.hpp"
#include "native/task.hpp"

namespace dtrain::native {

/// Dimensions of the data that a classifier is built for.
struct ClassifierSizes {
    std::int64_t local_batch = 0;
    std::int64_t features = 0;
    std::int64_t classes = 0;
};

inline constexpr const char* fed_x = "x";
inline constexpr const char* fed_label = "label";

/// A multi-layer perceptron with softmax cross-entropy loss. Inputs to feed: x [local_batch, features], label
/// and weight [local_batch]. Pure. @throws ProgramError
Model build_classifier(const ModelSettings& settings, const ClassifierSizes& sizes,
                       const Optimizer& optimizer, const Ranks& ranks, const OptimizerOptions& adjust = {});

/// Classification of samples.
class ClassifierTask final : public Task {
  public:
    /// @param test may be empty
    /// @throws UsageError if training and test data are incompatible
    ClassifierTask(ModelSettings settings, std::shared_ptr<const DataSource> train,
                   std::shared_ptr<const DataSource> test);

    std::int64_t train_samples() const override { return train_->size(); }
    std::int64_t test_samples() const override { return test_ ? test_->size() : 0; }
    std::string sample_description() const override;
    std::uint64_t fingerprint() const override { return train_->fingerprint(); }
    Model build(std::int64_t local_batch, const Optimizer& optimizer, const Ranks& ranks,
                const OptimizerOptions& adjust) const override;
    std::unique_ptr<Feeder> train_feeder(const DistributedSampler::Options& sampling) const override;
    std::unique_ptr<Feeder> test_feeder(const DistributedSampler::Options& sampling) const override;

  private:
    ModelSettings settings_;
    std::shared_ptr<const DataSource> train_;
    std::shared_ptr<const DataSource> test_;
};

}  // namespace dtrain::native
