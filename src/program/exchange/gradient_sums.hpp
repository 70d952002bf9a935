// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dtrain::program {

/// Sums of some gradients over batches, in the memory where the gradients are: one or more sums, by slot.
class GradientSums {
  public:
    virtual ~GradientSums() = default;

    /// set(): the sum becomes the gradients of the first batch; add(): adds those of another batch.
    virtual void set(std::size_t slot) = 0;
    virtual void add(std::size_t slot) = 0;
    /// Adds the sum in the next slot to the one in this slot.
    virtual void merge(std::size_t slot) = 0;
    /// Copies the first sum to the gradients.
    virtual void give_back() = 0;

    /// The first `count` sums in host memory; valid until any of them changes.
    virtual std::vector<std::span<const float>> on_host(std::size_t count) = 0;
    /// Copies these values to the gradients.
    virtual void give_back(std::span<const float> values) = 0;
};

}  // namespace dtrain::program
