// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/launch_check.hpp"

#include <fmt/format.h>

namespace dtrain::native {
namespace {

bool is_step_without_pmix(const cluster::Identity& announced, const Environment& environment) {
    if (announced.launcher != cluster::Launcher::slurm) return false;
    for (const char* name : {"PMIX_RANK", "PMIX_NAMESPACE", "PMI_FD", "PMI_RANK"})
        if (environment.has(name)) return false;
    return true;
}

}  // namespace

std::optional<std::string> why_mpi_cannot_start(const cluster::Identity& announced,
                                                const Environment& environment, bool is_open_mpi) {
    if (!is_open_mpi || announced.size == 1 || !is_step_without_pmix(announced, environment))
        return std::nullopt;
    return fmt::format(
        "srun started {0} ranks without PMIx, so that Open MPI cannot join them; use: srun --mpi=pmix -n {0} "
        "dtrain-worker ... (srun --mpi=list shows what this Slurm has)",
        announced.size);
}

bool must_hide_slurm_step(const cluster::Identity& announced, const Environment& environment,
                          bool is_open_mpi) {
    return is_open_mpi && announced.size == 1 && is_step_without_pmix(announced, environment);
}

Environment variables_without_daemon(const cluster::Identity& announced, const Environment& environment,
                                     bool is_open_mpi) {
    constexpr const char* isolated = "OMPI_MCA_ess_singleton_isolated";
    const bool is_alone = announced.launcher == cluster::Launcher::none ||
                          must_hide_slurm_step(announced, environment, is_open_mpi);
    if (!is_open_mpi || !is_alone || environment.has(isolated)) return {};
    Environment variables{
        {isolated, "1"},
        {"OMPI_MCA_orte_create_session_dirs", "0"},
        // MPI-IO's other ways to share a file pointer take a session folder, or a file that is locked.
        {"OMPI_MCA_sharedfp", "individual"}};
    for (const auto& [name, value] : environment) variables.unset(name);
    return variables;
}

std::optional<std::string> world_mismatch(const cluster::Identity& announced, int world_size,
                                          const std::string& library) {
    if (announced.launcher == cluster::Launcher::none || announced.size == world_size) return std::nullopt;
    const auto cure =
        announced.launcher == cluster::Launcher::slurm
            ? fmt::format("use: srun --mpi=pmix -n {} dtrain-worker ...", announced.size)
            : fmt::format("use the mpirun that belongs to this MPI: mpirun -np {} dtrain-worker ...",
                          announced.size);
    return fmt::format("{} started {} ranks, but the MPI of this program ({}) sees a world of {}; {}",
                       to_string(announced.launcher), announced.size, library.substr(0, library.find(',')),
                       world_size, cure);
}

}  // namespace dtrain::native
