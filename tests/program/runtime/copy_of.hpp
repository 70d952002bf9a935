// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace dtrain {

/// The values of a tensor as they are now.
inline std::vector<float> copy_of(std::span<const float> values) {
    return {values.begin(), values.end()};
}

}  // namespace dtrain
