// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>

#include "identity/endpoints.hpp"
#include "protocol/server_job.hpp"
#include "protocol/torch_job.hpp"

namespace dtrain::cluster {

/// What is passed to a rank's program.
struct ProgramContext {
    Identity identity = {};
    Endpoints endpoints = {};
    std::optional<ServerJob> servers = {};  ///< of a parameter-server job
    bool rpc = false;          ///< --run_mode rpc: also sets the variables of paddle.distributed.rpc
    std::string backend = {};  ///< PADDLE_DISTRI_BACKEND; "": nccl with devices, else gloo
    /// Devices as indices into the visible list, per rank of the whole job if known, else of this node; empty
    /// lists on CPU.
    std::vector<std::vector<int>> devices_of_rank = {};
    std::vector<int> selected_devices = {};  ///< indices of this rank's devices in the visible list
    /// CUDA_VISIBLE_DEVICES of a program with devices; "": it stays unchanged.
    std::string cuda_visible_devices = {};
    int threads = 1;                     ///< OMP_NUM_THREADS if the user set none
    std::string log_dir = {};            ///< absolute
    std::string gloo_fs_path = {};       ///< a folder that only this job uses, for PADDLE_GLOO_FS_PATH
    std::string backup_env_path = {};    ///< PADDLE_BACKUP_ENV_PATH if such a file was written, else empty
    std::string pod_name = {};           ///< six letters, one per node
    std::optional<TorchJob> torch = {};  ///< of a job that dtrain-run started
};

/// The complete environment of a rank's program: `inherited` plus Paddle's variables of the rank's mode (both
/// the 2.0-2.3 and the 2.4-3.x names), torch's, OMP_NUM_THREADS and, with devices, CUDA_DEVICE_ORDER and
/// CUDA_VISIBLE_DEVICES; servers and CPU workers in a job with GPUs see none; proxy variables and dtrain's
/// internal variables are removed, except the job token. Lists too long for exec (over 120 KiB) are left out.
/// What the MPI launcher and the scheduler set stays.
Environment program_environment(const Environment& inherited, const ProgramContext& context);

}  // namespace dtrain::cluster
