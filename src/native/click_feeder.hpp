// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "train/feeder.hpp"

namespace dtrain::native {

/// Base class of feeders for a click-through model.
class ClickFeeder : public train::Feeder {
  public:
    /// @param integers dense values per sample; if 0, the model has no such variable
    ClickFeeder(const DistributedSampler::Options& sampling, std::int64_t integers)
        : Feeder(sampling), integers_(integers) {}

    void bind(Executor& executor) override;

  protected:
    static Lookup ahead_of(std::span<const std::int64_t> ids);

    std::span<float> dense_;
    std::span<std::int64_t> ids_;
    std::span<float> click_;
    std::span<float> weight_;

  private:
    std::int64_t integers_;
};

}  // namespace dtrain::native
