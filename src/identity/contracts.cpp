// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/contracts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::cluster {
namespace {

constexpr int max_ranks = 10'000'000;

/// The variables in which one launcher passes ranks and sizes.
struct Names {
    const char* rank;
    const char* size;
    const char* local_rank;
    const char* local_size;
};

Identity read_ranks(const Environment& environment, const Names& names, Launcher launcher) {
    Identity out;
    out.launcher = launcher;
    out.rank = contract_int(environment, names.rank, names.rank);
    out.size = contract_int(environment, names.size, names.rank, 1);
    out.local_rank = contract_int(environment, names.local_rank, names.rank);
    out.local_size = contract_int(environment, names.local_size, names.rank, 1);
    if (out.size > max_ranks)
        throw UsageError(fmt::format("{}={} is over {}; start the job through its launcher or unset it",
                                     names.size, out.size, max_ranks));
    require_below(names.rank, out.rank, names.size, out.size);
    require_below(names.local_rank, out.local_rank, names.local_size, out.local_size);
    if (out.local_size > out.size)
        throw UsageError(
            fmt::format("{}={} is more than {}={}; start the job through its launcher or unset them",
                        names.local_size, out.local_size, names.size, out.size));
    return out;
}

/// hydra and bare PMI set no job id in the environment. Uses a scheduler's job number, which is the same on
/// every node; without one, the pid of the launcher if there is only one node; else a constant, so that at
/// least the ranks of one job agree (DTRAIN_JOB_ID distinguishes such jobs).
std::string job_id_without_launcher(const Environment& environment, const Identity& identity,
                                    const ProcessIds& processes) {
    constexpr std::array schedulers{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "FLUX_JOB_ID"};
    for (const char* name : schedulers)
        if (const auto id = environment.get(name); id && !id->empty()) return *id;
    if (identity.local_size == identity.size) return fmt::format("hydra-{}", processes.parent);
    return fmt::format("hydra-{}-ranks", identity.size);
}

/// The first of two equivalent variables that is set.
const char* either(const Environment& environment, const char* first, const char* second) {
    return environment.has(first) || !environment.has(second) ? first : second;
}

}  // namespace

int contract_int(const Environment& environment, std::string_view name, std::string_view witness, int min) {
    const auto value = environment.get_int(name, min);
    if (!value)
        throw UsageError(
            fmt::format("{} is not set although {}={} is; start the job through its launcher or unset {}",
                        name, witness, environment.get_or(witness, ""), witness));
    return *value;
}

void require_below(std::string_view name, int value, std::string_view limit_name, int limit) {
    if (value >= limit)
        throw UsageError(
            fmt::format("{}={} is not below {}={}; start the job through its launcher or unset them", name,
                        value, limit_name, limit));
}

void number_nodes_by_slot(Identity& identity) {
    identity.node_rank = identity.rank / identity.local_size;
    identity.nodes = 1 + (identity.size - 1) / identity.local_size;
    const bool fits = identity.size % identity.local_size == 0 &&
                      identity.rank % identity.local_size == identity.local_rank;
    identity.ranks_of_node.clear();
    if (fits) identity.ranks_of_node.assign(static_cast<std::size_t>(identity.nodes), identity.local_size);
}

std::optional<Identity> read_dtrain(const Environment& environment) {
    if (!environment.has("DTRAIN_RANK")) return std::nullopt;
    Identity out =
        read_ranks(environment, {"DTRAIN_RANK", "DTRAIN_SIZE", "DTRAIN_LOCAL_RANK", "DTRAIN_LOCAL_SIZE"},
                   Launcher::dtrain);
    number_nodes_by_slot(out);
    out.job_id = environment.get_or("DTRAIN_JOB_ID", "");
    if (out.job_id.empty())
        throw UsageError(
            fmt::format("DTRAIN_JOB_ID is not set although DTRAIN_RANK={} is; start the job through "
                        "dtrain-launch or unset DTRAIN_RANK",
                        out.rank));
    return out;
}

std::optional<Identity> read_open_mpi(const Environment& environment) {
    if (!environment.has("OMPI_COMM_WORLD_RANK")) return std::nullopt;
    // OMPI_COMM_WORLD_NODE_RANK is this process' index among those of all jobs on its node, not the node's
    // rank.
    Identity out = read_ranks(environment,
                              {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                               "OMPI_COMM_WORLD_LOCAL_SIZE"},
                              Launcher::open_mpi);
    number_nodes_by_slot(out);
    // Open MPI 4.1 reports the nodes of the allocation; if the job spans more nodes, their rank counts
    // differ.
    if (const auto allocated = environment.get_int("OMPI_MCA_orte_num_nodes", 1);
        out.nodes > allocated.value_or(out.nodes))
        out.ranks_of_node.clear();
    out.job_id =
        environment.get("PMIX_NAMESPACE").value_or(environment.get_or("OMPI_MCA_ess_base_jobid", ""));
    if (out.job_id.empty())
        throw UsageError(
            fmt::format("PMIX_NAMESPACE is not set although OMPI_COMM_WORLD_RANK={} is; start the job "
                        "through mpirun or unset OMPI_COMM_WORLD_RANK",
                        out.rank));
    return out;
}

std::optional<Identity> read_hydra(const Environment& environment, const ProcessIds& processes) {
    // PMI_RANK alone does not imply hydra: srun --mpi=pmi2 and PALS set it, too.
    if (!environment.has("PMI_RANK") || !environment.has("MPI_LOCALRANKID")) return std::nullopt;
    Identity out = read_ranks(environment, {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                              Launcher::hydra);
    number_nodes_by_slot(out);
    out.job_id = job_id_without_launcher(environment, out, processes);
    return out;
}

std::optional<Identity> read_pals(const Environment& environment) {
    if (!environment.has("PALS_RANKID")) return std::nullopt;
    // PALS passes the job's size only as PMI_SIZE; plug-ins that imitate PALS omit PALS_LOCAL_*.
    Identity out =
        read_ranks(environment,
                   {"PALS_RANKID", "PMI_SIZE", either(environment, "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"),
                    either(environment, "PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE")},
                   Launcher::pals);
    number_nodes_by_slot(out);
    if (const auto node = environment.get_int("PALS_NODEID")) {
        require_below("PALS_NODEID", *node, "PMI_SIZE", out.size);
        if (*node != out.node_rank) out.ranks_of_node.clear();
        out.node_rank = *node;
        out.nodes = std::max(out.nodes, *node + 1);
    }
    out.job_id = environment.get_or("PALS_APID", "");
    if (out.job_id.empty())
        throw UsageError(
            fmt::format("PALS_APID is not set although PALS_RANKID={} is; start the job through mpiexec "
                        "or unset PALS_RANKID",
                        out.rank));
    return out;
}

std::optional<Identity> read_bare_pmi(const Environment& environment, const ProcessIds& processes) {
    if (!environment.has("PMI_RANK") || !environment.has("PMI_SIZE")) return std::nullopt;
    Identity out;
    if (environment.get_int("PMI_SIZE", 1) == 1 && !environment.has("PMI_LOCAL_RANK")) {
        out.launcher = Launcher::hydra;
        out.rank = contract_int(environment, "PMI_RANK", "PMI_SIZE");
        require_below("PMI_RANK", out.rank, "PMI_SIZE", 1);
    } else {
        out = read_ranks(environment, {"PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"},
                         Launcher::hydra);
    }
    number_nodes_by_slot(out);
    out.job_id = job_id_without_launcher(environment, out, processes);
    return out;
}

}  // namespace dtrain::cluster
