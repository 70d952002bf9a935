// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/loops/loops.hpp"
#include "kernels/loss_scale.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

bool are_finite(const std::vector<std::span<float>>& gradients) {
    return std::ranges::all_of(
        gradients, [](std::span<const float> each) { return loops::are_finite(each.data(), each.size()); });
}

std::unique_ptr<Kernel> make_unscale_gradients(const KernelArguments& arguments) {
    std::vector<std::span<float>> gradients;
    for (const auto& tensor : arguments.outputs_of("gradient")) gradients.push_back(tensor.as<float>());
    return kernel_of([gradients = std::move(gradients), scale = arguments.out("scale").data(),
                      good_steps = arguments.out<std::int64_t>("good_steps").data(),
                      skip = arguments.out<std::int64_t>("skip").data(), rule = loss_scale_rule(arguments)] {
        const bool finite = are_finite(gradients);
        if (finite)
            for (const auto& each : gradients)
                loops::scale(1 / *scale, each.data(), each.data(), each.size());
        *skip = finite ? 0 : 1;
        const auto next = after_step({*scale, *good_steps}, rule, finite);
        *scale = next.scale;
        *good_steps = next.good_steps;
    });
}

}  // namespace

Entries loss_scaling_kernels() {
    return {{"unscale_gradients", make_unscale_gradients}};
}

}  // namespace dtrain::kernels
