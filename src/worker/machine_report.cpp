// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/machine_report.hpp"

#include <array>
#include <chrono>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "scheduler/registry.hpp"
#include "topology/hwloc_topology.hpp"
#include "topology/nvml.hpp"

namespace dtrain::worker {
namespace {

struct Flavour {
    std::string_view mark;  ///< substring of the library's or mpirun's version text
    std::string_view name;
};

// Derivatives of MPICH come before MPICH, since some of them contain its name.
constexpr std::array flavours = {
    Flavour{"Open MPI", "Open MPI"},     Flavour{"Intel(R) MPI", "Intel MPI"},
    Flavour{"CRAY MPICH", "Cray MPICH"}, Flavour{"MVAPICH2", "MVAPICH2"},
    Flavour{"MVAPICH", "MVAPICH"},       Flavour{"HYDRA", "hydra (MPICH)"},
    Flavour{"MPICH", "MPICH"},
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// The first version such as "4.1.4" or "2021.9" in the text, with its suffix ("5.0.0rc1").
std::string first_version(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
        if (!is_digit(text[begin])) continue;
        std::size_t end = begin;
        while (end < text.size() &&
               (is_digit(text[end]) || text[end] == '.' || (text[end] >= 'a' && text[end] <= 'z')))
            ++end;
        const auto word = text.substr(begin, end - begin);
        if (word.find('.') != std::string_view::npos)
            return std::string(word.substr(0, word.find_last_not_of('.') + 1));
        begin = end;
    }
    return "";
}

MpiReport flavour_and_version(std::string_view text) {
    MpiReport report;
    for (const auto& [mark, name] : flavours) {
        const auto found = text.find(mark);
        if (found == std::string_view::npos) continue;
        report.flavour = name;
        report.version = first_version(text.substr(found + mark.size()));
        break;
    }
    return report;
}

void find_mpirun(MpiReport& mpi, const Environment& environment) {
    const auto path = find_in_path("mpirun", environment);
    if (!path) return;
    mpi.mpirun = *path;
    try {
        ProcessOptions options;
        options.argv = {*path, "--version"};
        options.environment = environment;
        const auto captured = run_and_capture(options, std::chrono::seconds(5));
        if (captured.status.success()) mpi.mpirun_version = mpirun_version_of(captured.out);
    } catch (const UsageError&) {
        // mpirun is in PATH but cannot be executed: its version is unknown.
        mpi.mpirun_version.clear();
    }
}

VisibleReport visible_devices(const topology::Machine& machine, const Environment& environment) {
    VisibleReport report{.variable = environment.get("CUDA_VISIBLE_DEVICES")};
    try {
        report.devices = topology::visible_gpus(machine, report.variable);
    } catch (const UsageError& error) {
        report.error = error.what();
    }
    return report;
}

std::vector<NcclReport::Setting> nccl_settings(const Environment& environment) {
    constexpr std::string_view family = "NCCL";
    std::vector<NcclReport::Setting> settings;
    for (const auto& [name, value] : environment)
        if (name.size() > family.size() && name.starts_with(family) && name[family.size()] == '_')
            settings.push_back({name, value});
    return settings;
}

}  // namespace

MpiReport mpi_of(std::string_view library_version) {
    MpiReport report = flavour_and_version(library_version);
    if (report.flavour.empty())  // unknown to dtrain: its own text, up to the end of the line
        report.flavour = trimmed(library_version.substr(0, library_version.find('\n')));
    return report;
}

std::string mpirun_version_of(std::string_view output) {
    const MpiReport report = flavour_and_version(output);
    return report.version.empty() ? report.flavour : report.flavour + " " + report.version;
}

MachineReport machine_report(const topology::Machine& machine, const CpuSet& affinity,
                             const Environment& environment) {
    MachineReport report;
    report.machine = machine;
    report.affinity = affinity;
    if (machine.is_this_system) report.health = topology::ask_gpu_health();
    find_mpirun(report.mpi, environment);
    if (const auto* own = scheduler::of_this_job(environment)) {
        report.scheduler = own->title();
        report.job_id = own->job_id(environment);
    }
    report.visible = visible_devices(machine, environment);
    report.nccl.settings = nccl_settings(environment);
    if (machine.is_this_system) {
        const auto driver = topology::ask_nvml_driver();
        report.versions.gpu.driver = driver.version;
        report.versions.gpu.cuda_driver = driver.cuda;
    }
    report.versions.dtrain = version;
    report.versions.hwloc_built = topology::hwloc_api_built();
    report.versions.hwloc_running = topology::hwloc_api_running();
    return report;
}

}  // namespace dtrain::worker
