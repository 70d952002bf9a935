// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/contracts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::cluster {
namespace {

constexpr int max_ranks = 10'000'000;

/// The names that one launcher uses for ranks and sizes.
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

/// hydra and bare PMI leave no name of the job in the environment. A scheduler's job number is the same on
/// every node; without one, the launcher's process on the only node; without either a constant, so that at
/// least the ranks of one job agree (DTRAIN_JOB_ID tells such jobs apart).
std::string job_id_without_launcher(const Environment& environment, const Identity& identity,
                                    const ProcessIds& processes) {
    constexpr std::array schedulers{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "FLUX_JOB_ID"};
    for (const char* name : schedulers)
        if (const auto id = environment.get(name); id && !id->empty()) return *id;
    if (identity.local_size == identity.size) return fmt::format("hydra-{}", processes.parent);
    return fmt::format("hydra-{}-ranks", identity.size);
}

/// The first of two names of the same thing that is set.
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
    // OMPI_COMM_WORLD_NODE_RANK is the number of this process among all jobs on its node, not the node's
    // number.
    Identity out = read_ranks(environment,
                              {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                               "OMPI_COMM_WORLD_LOCAL_SIZE"},
                              Launcher::open_mpi);
    number_nodes_by_slot(out);
    // Open MPI 4.1 counts the nodes of the allocation; a job on more than those has them unequally filled.
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
    // PMI_RANK alone is no sign of hydra: srun --mpi=pmi2 and PALS set it as well.
    if (!environment.has("PMI_RANK") || !environment.has("MPI_LOCALRANKID")) return std::nullopt;
    Identity out = read_ranks(environment, {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                              Launcher::hydra);
    number_nodes_by_slot(out);
    out.job_id = job_id_without_launcher(environment, out, processes);
    return out;
}

std::optional<Identity> read_pals(const Environment& environment) {
    if (!environment.has("PALS_RANKID")) return std::nullopt;
    // PALS tells the job's size only by PMI's name; plug-ins that imitate it leave PALS_LOCAL_* out.
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
