// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dtrain::program {

/// Sums of some gradients over batches, where the gradients are: one or more, by place.
class GradientSums {
  public:
    virtual ~GradientSums() = default;

    /// The gradients are those of the first batch of a sum, or of another one.
    virtual void set(std::size_t place) = 0;
    virtual void add(std::size_t place) = 0;
    /// Adds the sum behind it to the one at a place.
    virtual void merge(std::size_t place) = 0;
    /// The gradients become the first sum.
    virtual void give_back() = 0;

    /// The first sums in memory of this process, as they are now; good until any is changed.
    virtual std::vector<std::span<const float>> on_host(std::size_t count) = 0;
    /// The gradients become these.
    virtual void give_back(std::span<const float> values) = 0;
};

}  // namespace dtrain::program
