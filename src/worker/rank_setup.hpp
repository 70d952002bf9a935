// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/topology.hpp>

#include "cluster/assignment.hpp"

namespace dtrain::worker {

/// One visible device per rank, in their order; shared when there are fewer. Pure.
std::vector<std::vector<int>> devices_in_turn(std::size_t visible, int local_size);

/// What the ranks of this node get of it when no launcher has planned that: processors by topology::place.
/// Pure.
/// @param usable the processors that the ranks of this node may have
/// @param positions the devices of each local rank in `visible`
/// @throws UsageError for a position that is none
std::vector<cluster::RankAssignment> assign_node(const topology::Machine& machine, const CpuSet& usable,
                                                 const std::vector<topology::VisibleGpu>& visible,
                                                 const std::vector<std::vector<int>>& positions);

/// Those of the visible devices that a job uses: "all", or their positions such as "0,2" (DTRAIN_SELECT).
/// @throws UsageError for a position that is none
std::vector<topology::VisibleGpu> selected_gpus(const std::vector<topology::VisibleGpu>& visible,
                                                const std::string& select);

/// The processors that placement may use: those of the machine that the ranks of this node were given
/// together. Pure.
/// @param given the mask of the launcher's daemon where that binds each rank to its own few (mpirun, hydra:
/// they are
///              shared out anew, near the GPUs), else this process' own (Slurm, taskset)
CpuSet usable_cpus(const topology::Machine& machine, const CpuSet& given);

/// The addresses of a job that dtrain-launch has not planned: the node names that the launcher's variables
/// give, ports from a hash of the job id or from `start_port`. Pure.
/// @throws UsageError when the job has several nodes and nothing names them.
cluster::Endpoints unplanned_endpoints(const cluster::Identity& identity, std::optional<int> start_port);

/// The addresses that dtrain-launch planned (DTRAIN_ENDPOINTS, DTRAIN_MASTER, DTRAIN_TORCH_MASTER), or
/// nothing.
std::optional<cluster::Endpoints> planned_endpoints(const Environment& environment);

/// The parameter-server job that dtrain-launch planned, or nothing.
/// @param role what --role says, which must be what the plan has for this rank; "": not said
/// @throws UsageError when it is not, or the plan has another number of ranks.
std::optional<cluster::ServerJob> planned_server_job(const Environment& environment,
                                                     const cluster::Identity& identity,
                                                     const std::string& role);

/// The ports that this rank must find free before its program starts: its own, and on rank 0 the rendezvous
/// ones.
std::vector<int> ports_of_rank(const cluster::Identity& identity, const cluster::Endpoints& endpoints,
                               const std::optional<cluster::ServerJob>& servers);

/// What a rank's program shall see as CUDA_VISIBLE_DEVICES, and its devices as positions in that.
struct DeviceView {
    std::string cuda_visible_devices;  ///< "": as inherited
    std::vector<int> positions;
    friend bool operator==(const DeviceView&, const DeviceView&) = default;
};

/// Ranks of a collective job see all selected devices of their node; those of a parameter-server job only
/// their own, as Paddle has it.
/// @param visible the node's devices, "" when CUDA_VISIBLE_DEVICES is to stay as it is
DeviceView view_of(const std::string& visible, const std::vector<int>& devices, bool own_devices_only);

/// Six letters that name this node in the job, the same for all its ranks (Paddle's POD_NAME).
std::string pod_name(const cluster::Identity& identity);

}  // namespace dtrain::worker
