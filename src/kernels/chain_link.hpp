// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {

/// An operator of a chain of element-wise ones, each of which reads what one before it makes.
struct ChainLink {
    std::string_view type;
    KernelArguments arguments;
};

}  // namespace dtrain::kernels
