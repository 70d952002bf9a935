// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/srun_probe.hpp"

#include <dtrain/error.hpp>

#include "base/subprocess.hpp"
#include "cluster/slurm_allocation.hpp"
#include "launch/srun.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::seconds probe_limit{10};

}  // namespace

SrunSite ask_slurm(cluster::Allocation& allocation, const Environment& environment) {
    const auto ask = [&](std::vector<std::string> argv) {
        const auto answer =
            run_and_capture({.argv = std::move(argv), .environment = environment}, probe_limit);
        return answer.out + answer.err;  // some versions print the list on stderr
    };
    if (!allocation.gpus_of_node && !environment.has("CUDA_VISIBLE_DEVICES") &&
        find_in_path("scontrol", environment))
        allocation.gpus_of_node =
            cluster::gpus_of_node(ask({"scontrol", "show", "job", "--details", allocation.job_id}));
    return {.pmix = offers_pmix(ask({"srun", "--mpi=list"}))};
}

}  // namespace dtrain::launch
