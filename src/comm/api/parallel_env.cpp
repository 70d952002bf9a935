// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>

#include <mpi.h>

#include <dtrain/environment.hpp>
#include <dtrain/parallel_env.hpp>

#include "comm/api/has_world.hpp"
#include "comm/api/launched.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/mpi/mpi_error.hpp"

namespace dtrain {
namespace {

std::atomic<int> living{0};

std::string device_of(const Environment& environment) {
    const auto gpus = environment.get_or("FLAGS_selected_gpus", "");
    return gpus.empty() ? "cpu" : "gpu:" + gpus.substr(0, gpus.find(','));
}

/// The other ranks may otherwise wait for this one for ever.
void notify_others_at_exit() {
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
    if (comm::is_launched(environment)) {
        session_.emplace();
        communicator_ = session_->world();
    }
    ++living;
}

ParallelEnv::~ParallelEnv() {
    --living;
    if (!session_) return;
    const bool unwinding = std::uncaught_exceptions() > exceptions_;
    if ((unwinding && !comm::failure_is_agreed()) || comm::is_broken()) notify_others_at_exit();
    communicator_ = Communicator();
}

bool comm::has_world() {
    return living > 0 || mpi_is_running();
}

}  // namespace dtrain
