// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/gpu_mirrors.hpp"

namespace dtrain::program {

TensorView GpuMirrors::of(const std::string& variable, const TensorView& device) {
    auto& [memory, step] = mirrors_[variable];
    if (!memory) memory = gpu_->allocate_host(device.bytes());
    if (step != steps_) {
        gpu_->to_host(memory.get(), device.data, device.bytes());
        gpu_->finish();
        step = steps_;
    }
    return {memory.get(), device.shape, device.type};
}

}  // namespace dtrain::program
