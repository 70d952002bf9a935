// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler/pbs/pbs.hpp"

#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "scheduler/batch_script.hpp"
#include "scheduler/limits.hpp"
#include "scheduler/pbs/pbs_allocation.hpp"

namespace dtrain::scheduler {
std::string Pbs::job_id(const Environment& environment) const {
    return environment.get_or("PBS_JOBID", "");
}

std::optional<Allocation> Pbs::allocation(const Environment& environment, const ReadFile& read_file) const {
    return pbs_allocation(environment, read_file);
}

/// PBS' own remote shell keeps the ranks under its control; ssh is used if a site lacks it.
std::string Pbs::remote_shell(const Environment& environment, const ReadFile& read_file) const {
    if (const auto found = find_in_path("pbs_tmrsh", environment)) return *found;
    const auto settings = read_file(environment.get_or("PBS_CONF_FILE", "/etc/pbs.conf"));
    const auto in_pbs =
        std::filesystem::path(pbs_prefix(environment, settings.value_or(""))) / "bin/pbs_tmrsh";
    return ::access(in_pbs.c_str(), X_OK) == 0 ? in_pbs.string() : "";
}

std::optional<std::vector<cluster::HostSlots>> Pbs::hosts_of_ranks(const Environment& environment,
                                                                   const ReadFile& read_file) const {
    const auto path = environment.get("PBS_NODEFILE");
    const auto nodes = path ? read_file(*path) : std::nullopt;
    if (!nodes) return std::nullopt;
    return cluster::parse_hostfile(*nodes);
}

/// Uses a file, since not every qsub reads a script from stdin, and some name the job's output after the
/// file.
std::string Pbs::submit(const std::string& script, const JobRequest& request,
                        const Environment& environment) const {
    if (!find_in_path("qsub", environment))
        throw UsageError("qsub is not in PATH; load PBS' module, or submit from a login node of the cluster");
    const TemporaryFolder folder;
    const auto file = folder.path() + "/" + name_in_pbs(request);
    replace_file_without_sync(file, script, 0700);
    const auto answer = run_and_capture({.argv = {"qsub", file}, .environment = environment}, submit_limit);
    const auto number = std::string(trimmed(answer.out));  // "12.server"
    if (!answer.status.success() || number.empty() || number.find_first_of(" \n") != std::string::npos)
        throw UsageError(fmt::format("qsub refuses the job: {}", reason_of(answer)));
    return number;
}

std::string Pbs::output_file(const JobRequest& request, const std::string& number) const {
    return fmt::format("{}.o{}", name_in_pbs(request), split(number, '.').front());
}

/// qdel sends SIGTERM first, and SIGKILL some seconds later.
std::vector<std::string> Pbs::cancel_command(const std::string& number, bool) const {
    return {"qdel", number};
}

}  // namespace dtrain::scheduler
