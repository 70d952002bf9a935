// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <dtrain/nn_tensor.hpp>

namespace dtrain::nn {

/// A tensor and the input slot that it is passed to.
struct Given {
    const char* slot;
    const Tensor& tensor;
};

/// Returns all outputs of an operator. @throws ProgramError if an input does not fit; EmptyError
std::vector<Tensor> run(std::string_view type, const std::vector<Given>& inputs,
                        const Attributes& attributes = {},
                        const std::vector<std::string_view>& outputs = {"out"});

/// Returns the first output.
inline Tensor run_one(std::string_view type, const std::vector<Given>& inputs,
                      const Attributes& attributes = {}) {
    return run(type, inputs, attributes).front();
}

}  // namespace dtrain::nn
