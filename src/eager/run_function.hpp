// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <dtrain/nn_tensor.hpp>

namespace dtrain::nn {

/// A tensor and the slot of an operator that it is given to.
struct Given {
    const char* slot;
    const Tensor& tensor;
};

/// All outputs of an operator. @throws ProgramError when an input does not fit; EmptyError
std::vector<Tensor> run(std::string_view type, const std::vector<Given>& inputs,
                        const Attributes& attributes = {},
                        const std::vector<std::string_view>& outputs = {"out"});

/// The first of them.
inline Tensor run_one(std::string_view type, const std::vector<Given>& inputs,
                      const Attributes& attributes = {}) {
    return run(type, inputs, attributes).front();
}

}  // namespace dtrain::nn
