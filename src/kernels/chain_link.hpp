// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {

/// An operator of a chain of element-wise operators, each of which reads the output of an earlier one.
struct ChainLink {
    std::string_view type;
    KernelArguments arguments;
};

}  // namespace dtrain::kernels
