// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/machine.hpp"

#include <dtrain/error.hpp>

namespace dtrain::gpu {

void check_gpus() {}

void choose_gpu(int number) {
    if (number != 0)
        throw UsageError("there is no GPU " + std::to_string(number) +
                         ": the stand-in for GPUs has one, number 0");
}

std::string name_of_gpu(int number) {
    return "GPU " + std::to_string(number) + ", this processor";
}

}  // namespace dtrain::gpu
