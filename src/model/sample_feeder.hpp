// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <dtrain/dataset.hpp>

#include "data/prefetcher.hpp"
#include "train/feeder.hpp"

namespace dtrain::model {

/// Data variables of a program; "": it has none of this kind.
struct FedNames {
    std::string_view x = {};
    std::string_view label = {};
    std::string_view weight = {};
};

/// Samples of a data source: directly from memory, or from disk by a thread that reads ahead.
class SampleFeeder final : public train::Feeder {
  public:
    SampleFeeder(std::shared_ptr<const DataSource> data, const DistributedSampler::Options& sampling,
                 const FedNames& names);

    void bind(Executor& executor) override;
    void start(std::int64_t epoch, std::int64_t first_step) override;
    void feed() override;

  private:
    std::shared_ptr<const DataSource> data_;
    FedNames names_;
    std::unique_ptr<data::Prefetcher> prefetcher_;
    std::span<float> x_;
    std::span<std::int64_t> label_;
    std::span<float> weight_;
    std::vector<std::int64_t> no_labels_;  ///< buffer for labels if the program has no label variable
};

}  // namespace dtrain::model
