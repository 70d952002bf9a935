// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <dtrain/cluster.hpp>

/// Reads each launcher's variables for a rank. Every function returns nothing if its launcher did not start
/// this process.
namespace dtrain::cluster {

std::optional<Identity> read_dtrain(const Environment& environment);
std::optional<Identity> read_open_mpi(const Environment& environment);
std::optional<Identity> read_hydra(const Environment& environment, const ProcessIds& processes);
std::optional<Identity> read_slurm(const Environment& environment);
std::optional<Identity> read_pals(const Environment& environment);
std::optional<Identity> read_bare_pmi(const Environment& environment, const ProcessIds& processes);

/// The nodes of the Slurm job (not of one of its steps) with their CPUs as slots, in Slurm's order; empty
/// outside of Slurm.
std::vector<HostSlots> slurm_job_nodes(const Environment& environment);

/// A number from a launcher's variable `name`; `witness` is the variable that shows that this launcher is
/// used.
/// @throws UsageError naming both if `name` is not set.
int contract_int(const Environment& environment, std::string_view name, std::string_view witness,
                 int min = 0);

/// @throws UsageError if the variable `name` (a rank, counted from 0) is not below `limit_name`.
void require_below(std::string_view name, int value, std::string_view limit_name, int limit);

/// Derives node_rank, nodes and ranks_of_node from ranks and sizes alone; see Identity.
void number_nodes_by_slot(Identity& identity);

}  // namespace dtrain::cluster
