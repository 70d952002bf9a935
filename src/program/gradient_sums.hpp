// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::program {

/// The sums of some gradients over batches.
class GradientSums {
  public:
    virtual ~GradientSums() = default;

    /// The gradients are those of the first batch, or of another one.
    virtual void set() = 0;
    virtual void add() = 0;
    /// The gradients become the sums.
    virtual void give_back() = 0;
};

}  // namespace dtrain::program
