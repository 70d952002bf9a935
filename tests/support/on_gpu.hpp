// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace dtrain::tests {

/// Whether executors that are not told compute on a GPU, or its stand-in: tests of what the CPU alone does
/// skip then.
inline bool executors_are_on_a_gpu() {
    const char* device = std::getenv("DTRAIN_DEVICE");
    return device != nullptr && std::string_view(device).starts_with("gpu");
}

}  // namespace dtrain::tests
