// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/gpu_mirrors.hpp"

namespace dtrain::program {

TensorView GpuMirrors::of(const std::string& variable, const TensorView& there) {
    auto& [memory, step] = mirrors_[variable];
    if (!memory) memory = gpu_->allocate_host(there.bytes());
    if (step != steps_) {
        gpu_->to_host(memory.get(), there.data, there.bytes());
        gpu_->finish();
        step = steps_;
    }
    return {memory.get(), there.shape, there.type};
}

}  // namespace dtrain::program
