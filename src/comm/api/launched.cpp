// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/launched.hpp"

#include <algorithm>
#include <array>

#include "base/slurm_task.hpp"

namespace dtrain::comm {

bool is_launched(const Environment& environment) {
    constexpr std::array marks{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_FD", "PALS_RANKID"};
    if (std::ranges::any_of(marks, [&](const char* name) { return environment.has(name); })) return true;
    // srun without PMI: MPI's own error message is better than ranks that train alone.
    return is_slurm_task(environment) && environment.get_int("SLURM_NTASKS").value_or(1) > 1;
}

}  // namespace dtrain::comm
