// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {

/// The factor of a loss, and the number of consecutive steps with finite gradients since it last changed.
struct LossScale {
    float scale = 1;
    std::int64_t good_steps = 0;
};

struct LossScaleRule {
    float growth;
    float backoff;
    std::int64_t growth_steps;
};

inline LossScaleRule loss_scale_rule(const KernelArguments& arguments) {
    return {static_cast<float>(arguments.number("growth")), static_cast<float>(arguments.number("backoff")),
            arguments.whole("growth_steps")};
}

/// Within these limits a scale and 1 / scale are normal numbers.
inline constexpr float min_loss_scale = 0x1p-126F;
inline constexpr float largest_loss_scale = 0x1p126F;

/// The scale after a step whose gradients were all finite, or not. Also used on GPUs.
constexpr LossScale after_step(LossScale now, const LossScaleRule& rule, bool were_finite) {
    if (were_finite && now.good_steps + 1 < rule.growth_steps) return {now.scale, now.good_steps + 1};
    const float next = now.scale * (were_finite ? rule.growth : rule.backoff);
    return {next < min_loss_scale || next > largest_loss_scale ? now.scale : next, 0};
}

}  // namespace dtrain::kernels
