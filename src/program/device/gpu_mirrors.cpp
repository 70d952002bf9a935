// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/gpu_mirrors.hpp"

namespace dtrain::program {
namespace {

constexpr std::int64_t never = -1;

}  // namespace

TensorView GpuMirrors::of(const std::string& variable, const TensorView& device) {
    auto found = mirrors_.find(variable);
    if (found == mirrors_.end())
        found = mirrors_.emplace(variable, Mirror{.copy = {gpu_, device}, .step = never}).first;
    auto& [copy, step] = found->second;
    if (step != steps_) {
        copy.download(device);
        copy.finish();
        step = steps_;
    }
    return copy.on_host(device);
}

}  // namespace dtrain::program
