// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "program/exchange/gradient_sums.hpp"

namespace dtrain::program {

/// Sums of gradients in host memory.
class HostSums final : public GradientSums {
  public:
    HostSums(std::span<float> gradients, std::size_t slots)
        : gradients_(gradients), sums_(slots, std::vector<float>(gradients.size())) {}

    void set(std::size_t slot) override;
    void add(std::size_t slot) override;
    void merge(std::size_t slot) override;
    void give_back() override { give_back(sums_.front()); }
    std::vector<std::span<const float>> on_host(std::size_t count) override;
    void give_back(std::span<const float> values) override;

  private:
    std::span<float> gradients_;
    std::vector<std::vector<float>> sums_;
};

}  // namespace dtrain::program
