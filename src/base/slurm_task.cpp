// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/slurm_task.hpp"

#include <cstdint>

#include "base/text.hpp"

namespace dtrain {

bool is_slurm_task(const Environment& environment) {
    constexpr std::uint32_t first_special_step = 0xfffffff0;
    const auto step = parse_int<std::uint32_t>(environment.get_or("SLURM_STEP_ID", ""));
    return environment.has("SLURM_PROCID") && step && *step < first_special_step;
}

}  // namespace dtrain
