// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/job_products.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

namespace dtrain::native {
namespace {

double power_of_two(const Section& section, const std::string& key, double otherwise, const Range& range) {
    const auto value = section.number(key, otherwise, range);
    int exponent = 0;
    if (std::frexp(value, &exponent) != 0.5)
        section.fail(key,
                     fmt::format("[train.loss_scale] {} = {}: it must be {}", key, value, range.allowed));
    return value;
}

}  // namespace

ComputeType read_products(const Section& train) {
    return train.choice("matmul", ComputeType::float32,
                        {ComputeType::bfloat16, ComputeType::float16, ComputeType::float32},
                        [](ComputeType type) { return to_string(type); });
}

LossScaling read_loss_scaling(const Section& train, ComputeType products) {
    constexpr double beyond = 0x1p127;
    const auto scale = train.section("loss_scale", {"first", "growth", "backoff", "growth_steps"});
    if (train.has("loss_scale") && products != ComputeType::float16)
        train.fail("loss_scale",
                   "[train.loss_scale] is a setting of matmul = \"float16\", but it is another one");
    LossScaling scaling;
    scaling.first = power_of_two(scale, "first", scaling.first,
                                 {0x1p-126, beyond, "a power of two from 2^-126 to 2^126"});
    scaling.growth =
        power_of_two(scale, "growth", scaling.growth, {1, beyond, "a power of two from 1 to 2^126"});
    scaling.backoff =
        power_of_two(scale, "backoff", scaling.backoff, {0x1p-126, 2, "a power of two from 2^-126 to 1"});
    scaling.growth_steps = scale.whole("growth_steps", scaling.growth_steps, 1, max_whole);
    return scaling;
}

}  // namespace dtrain::native
