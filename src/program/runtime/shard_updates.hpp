// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace dtrain::program {

/// Updates of all parameters, prepared so that they can be run for any part of them.
class ShardUpdates {
  public:
    /// @param gradients start of the gradients of all parameters
    explicit ShardUpdates(const float* gradients) : gradients_(gradients) {}

    void add(const std::string& operator_type, kernels::KernelArguments update);

    /// Runs the updates that belong to these elements of the gradients.
    void run(std::size_t first, std::size_t count) const;

  private:
    struct Update {
        std::size_t begin;  // offset of its gradients
        std::size_t count;
        std::unique_ptr<kernels::ElementRange> part;
        std::unique_ptr<kernels::Kernel> kernel;
    };

    const float* gradients_;
    std::vector<Update> updates_;
};

}  // namespace dtrain::program
