// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.hpp"

namespace dtrain::kernels {

/// The learning rate: an input if a schedule computes it, else an attribute. Also used on GPUs.
class Rate {
  public:
    explicit Rate(const KernelArguments& arguments)
        : value_(arguments.number("learning_rate")),
          scheduled_(arguments.has_input("learning_rate") ? arguments.in("learning_rate").data() : nullptr) {}

    constexpr double operator()() const {
        return scheduled_ != nullptr ? static_cast<double>(*scheduled_) : value_;
    }

  private:
    double value_;
    const float* scheduled_;
};

}  // namespace dtrain::kernels
