// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/topology.hpp>

#include "identity/endpoints.hpp"
#include "protocol/assignment.hpp"
#include "protocol/server_job.hpp"

namespace dtrain::worker {

/// Assigns one visible device per local rank, in order; devices are shared if there are fewer than ranks.
/// Pure.
std::vector<std::vector<int>> devices_in_turn(std::size_t visible, int local_size);

/// Assigns processors (by topology::place) and devices to the ranks of this node, if no launcher has planned
/// that. Pure.
/// @param usable the processors that the ranks of this node may use
/// @param positions the devices of each local rank as indices into `visible`
/// @throws UsageError for an index out of range
std::vector<cluster::RankAssignment> assign_node(const topology::Machine& machine, const CpuSet& usable,
                                                 const std::vector<topology::VisibleGpu>& visible,
                                                 const std::vector<std::vector<int>>& positions);

/// The visible devices that a job uses: "all", or indices such as "0,2" (DTRAIN_SELECT).
/// @throws UsageError for an invalid index
std::vector<topology::VisibleGpu> selected_gpus(const std::vector<topology::VisibleGpu>& visible,
                                                const std::string& select);

/// The processors that placement may use: those that the ranks of this node were given together. Pure.
/// @param given the affinity mask of the launcher's daemon if it binds each rank to its own few processors
/// (mpirun, hydra; they are redistributed near the GPUs), else this process' own mask (Slurm, taskset)
CpuSet usable_cpus(const topology::Machine& machine, const CpuSet& given);

/// How many ports a node needs for its ranks of a job that dtrain-launch has not planned. Pure.
int unplanned_ports(const cluster::Identity& identity);

/// The addresses of a job that dtrain-launch has not planned: node names from the launcher's variables, ports
/// from a hash of the job id or from `start_port`. Pure.
/// @throws UsageError if the job has several nodes and no variable names them
cluster::Endpoints unplanned_endpoints(const cluster::Identity& identity, std::optional<int> start_port);

/// The addresses that dtrain-launch planned (DTRAIN_ENDPOINTS, DTRAIN_MASTER, DTRAIN_TORCH_MASTER), or
/// nothing.
std::optional<cluster::Endpoints> planned_endpoints(const Environment& environment);

/// The parameter-server job that dtrain-launch planned, or nothing.
/// @param role value of --role; must equal the planned role of this rank. "": not given
/// @throws UsageError if the role differs, or the plan is for another number of ranks
std::optional<cluster::ServerJob> planned_server_job(const Environment& environment,
                                                     const cluster::Identity& identity,
                                                     const std::string& role);

/// The ports that must be free before this rank's program starts: its own, and on rank 0 the rendezvous
/// ports.
std::vector<int> ports_of_rank(const cluster::Identity& identity, const cluster::Endpoints& endpoints,
                               const std::optional<cluster::ServerJob>& servers);

/// The CUDA_VISIBLE_DEVICES of a rank's program, and the rank's devices as indices into it.
struct DeviceView {
    std::string cuda_visible_devices;  ///< "": as inherited
    std::vector<int> positions;
    friend bool operator==(const DeviceView&, const DeviceView&) = default;
};

/// Ranks of a collective job see all selected devices of their node; those of a parameter-server job see only
/// their own, as in Paddle.
/// @param visible the node's devices; "": CUDA_VISIBLE_DEVICES stays as it is
DeviceView view_of(const std::string& visible, const std::vector<int>& devices, bool own_devices_only);

/// Six letters that identify this node in the job, the same for all its ranks (Paddle's POD_NAME).
std::string pod_name(const cluster::Identity& identity);

}  // namespace dtrain::worker
