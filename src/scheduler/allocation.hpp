// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>

namespace dtrain::scheduler {

/// What a batch system allocated to a job, as its batch script sees it.
struct Allocation {
    std::string job_id;
    std::vector<cluster::HostSlots>
        nodes;  ///< in the batch system's order; slots: the number of tasks that it would start there
    bool task_count_requested = false;  ///< by the user: --ntasks, --ntasks-per-node, mpiprocs
    std::optional<int> gpus_of_node;    ///< if a variable has it
    std::string scheduler = "Slurm";    ///< or "PBS"
    friend bool operator==(const Allocation&, const Allocation&) = default;
};

}  // namespace dtrain::scheduler
