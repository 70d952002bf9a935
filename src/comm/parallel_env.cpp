// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <exception>

#include <mpi.h>

#include <dtrain/environment.hpp>
#include <dtrain/parallel_env.hpp>

#include "comm/leaving.hpp"
#include "comm/mpi_error.hpp"

namespace dtrain {
namespace {

/// True when a launcher started this process as one of the ranks of a job, so that MPI can tell it which.
bool is_launched(const Environment& environment) {
    constexpr const char* marks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_FD",
                                     "PALS_RANKID"};
    if (std::any_of(std::begin(marks), std::end(marks),
                    [&](const char* name) { return environment.has(name); }))
        return true;
    // srun without PMI: MPI says itself what is missing, which is better than ranks that train alone.
    return environment.has("SLURM_PROCID") && environment.get_int("SLURM_NTASKS").value_or(1) > 1;
}

std::string device_of(const Environment& environment) {
    const auto gpus = environment.get_or("FLAGS_selected_gpus", "");
    return gpus.empty() ? "cpu" : "gpu:" + gpus.substr(0, gpus.find(','));
}

/// The other ranks may wait for this one for ever.
void tell_others_at_exit() {
    ::on_exit(
        [](int status, void*) {
            if (comm::mpi_is_running()) MPI_Abort(MPI_COMM_WORLD, std::max(status, 1));
        },
        nullptr);
}

}  // namespace

ParallelEnv::ParallelEnv(int, char**) : exceptions_(std::uncaught_exceptions()) {
    const auto environment = Environment::of_this_process();
    device_ = device_of(environment);
    if (!is_launched(environment)) return;
    session_.emplace();
    communicator_ = session_->world();
}

ParallelEnv::~ParallelEnv() {
    if (!session_) return;
    const bool unwinding = std::uncaught_exceptions() > exceptions_;
    if ((unwinding && !comm::failure_is_agreed()) || comm::is_broken()) tell_others_at_exit();
    communicator_ = Communicator();
}

}  // namespace dtrain
