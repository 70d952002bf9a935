// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/srun/srun_probe.hpp"

#include <dtrain/error.hpp>

#include "base/subprocess.hpp"
#include "launch/backend/srun/srun.hpp"
#include "scheduler/slurm/slurm_allocation.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::seconds probe_limit{10};

}  // namespace

SrunSite ask_slurm(scheduler::Allocation& allocation, const Environment& environment) {
    const auto ask = [&](std::vector<std::string> argv) {
        const auto answer =
            run_and_capture({.argv = std::move(argv), .environment = environment}, probe_limit);
        return answer.out + answer.err;  // some versions print the list on stderr
    };
    if (!allocation.gpus_of_node && !environment.has("CUDA_VISIBLE_DEVICES") &&
        find_in_path("scontrol", environment))
        allocation.gpus_of_node =
            scheduler::gpus_of_node(ask({"scontrol", "show", "job", "--details", allocation.job_id}));
    return {.pmix = offers_pmix(ask({"srun", "--mpi=list"}))};
}

}  // namespace dtrain::launch
