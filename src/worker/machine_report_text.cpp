// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.hpp"
#include "topology/gpu_issues.hpp"
#include "worker/machine_info.hpp"
#include "worker/machine_report.hpp"

namespace dtrain::worker {
namespace {

using topology::Machine;

constexpr std::size_t label_width = 12;

std::string numbers(const std::vector<int>& values) {
    std::vector<std::string> texts;
    for (const int value : values) texts.push_back(fmt::format("{}", value));
    return texts.empty() ? "-" : join(texts, ",");
}

std::string or_else(const std::string& text, std::string_view otherwise) {
    return text.empty() ? std::string(otherwise) : text;
}

/// Puts the label before the first line and the other lines below it.
void add(std::string& out, std::string_view label, const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i)
        out += fmt::format("{:<{}} {}\n", i == 0 ? label : "", label_width, lines[i]);
}

std::vector<std::string> memory_lines(const Machine& machine) {
    if (machine.numa_nodes.empty()) return {"the machine tells of no memory node"};
    std::vector<std::vector<std::string>> rows;
    constexpr double gib = 1024.0 * 1024.0 * 1024.0;
    for (const auto& node : machine.numa_nodes)
        rows.push_back({fmt::format("node {}", node.os_index),
                        fmt::format("{:.1f} GiB", static_cast<double>(node.memory_bytes) / gib),
                        node.cpus.empty()
                            ? "no processor that is allowed here"
                            : fmt::format("{}, processors {}", counted(cores_in(machine, node.cpus), "core"),
                                          node.cpus.to_string())});
    return aligned(rows);
}

std::vector<std::string> issue_lines(const MachineReport& report) {
    std::vector<std::string> lines;
    const auto add_those_of = [&](const std::string& gpu, const topology::GpuHealth& health) {
        for (const auto& issue : topology::issues_of(health))
            lines.push_back(fmt::format("{}, GPU {}: {}; {}", issue.is_fault ? "fault" : "warning", gpu,
                                        issue.text, issue.remedy));
    };
    for (const auto& gpu : report.machine.gpus)
        if (const auto* const health = health_of(gpu, report.health))
            add_those_of(std::to_string(gpu.index), *health);
    for (const auto& health : other_gpus(report.machine, report.health))
        add_those_of(health.pci.to_string(), health);
    for (const auto& issue : issues_of(report.versions.gpu))
        lines.push_back(
            fmt::format("{}: {}; {}", issue.is_fault ? "fault" : "warning", issue.text, issue.remedy));
    return lines;
}

std::vector<std::string> gpu_lines(const Machine& machine) {
    if (machine.gpus.empty()) return {"none that this process may use"};
    std::vector<std::vector<std::string>> rows = {
        {"index", "PCI address", "model", "near processors", "memory node", "adapter", "UUID"}};
    for (const auto& gpu : machine.gpus) {
        const std::string near = !gpu.has_locality        ? "not told"
                                 : gpu.local_cpus.empty() ? "none allowed"
                                                          : gpu.local_cpus.to_string();
        rows.push_back({fmt::format("{}", gpu.index), gpu.pci.to_string(), or_else(gpu.model, "not told"),
                        near, numbers(numa_nodes_near(machine, gpu.local_cpus)),
                        or_else(adapter_near(machine, gpu), "-"), or_else(gpu.uuid, "not told")});
        for (const auto& mig : gpu.mig_uuids) rows.push_back({"", "", "partition", "", "", "", mig});
    }
    return aligned(rows);
}

std::vector<std::string> adapter_lines(const Machine& machine) {
    if (machine.adapters.empty()) return {"none on a PCI bus"};
    std::vector<std::vector<std::string>> rows = {
        {"name", "PCI address", "kind", "near processors", "memory node"}};
    for (const auto& adapter : machine.adapters)
        rows.push_back({adapter.name, adapter.pci.to_string(), adapter.rdma ? "RDMA" : "network",
                        or_else(adapter.local_cpus.to_string(), "not told"),
                        numbers(numa_nodes_near(machine, adapter.local_cpus))});
    return aligned(rows);
}

std::string visible_line(const VisibleReport& visible) {
    const std::string value = visible.variable ? fmt::format("CUDA_VISIBLE_DEVICES={}", *visible.variable)
                                               : std::string("CUDA_VISIBLE_DEVICES is not set");
    if (!visible.error.empty()) return fmt::format("unusable: {}", visible.error);
    if (visible.devices.empty()) return value + ": a program sees no GPU";
    std::vector<std::string> meanings;
    for (std::size_t i = 0; i < visible.devices.size(); ++i) {
        const auto& device = visible.devices[i];
        meanings.push_back(fmt::format("{} is {}", i,
                                       device.index ? fmt::format("GPU {}", *device.index)
                                                    : fmt::format("\"{}\", unknown here", device.id)));
    }
    return fmt::format("{}: {}", value, join(meanings, ", "));
}

std::vector<std::string> mpi_lines(const MpiReport& mpi) {
    const std::string linked = mpi.flavour.empty()   ? "library unknown"
                               : mpi.version.empty() ? mpi.flavour
                                                     : fmt::format("{} {}", mpi.flavour, mpi.version);
    if (mpi.mpirun.empty()) return {linked, "mpirun is not in PATH: ranks can be started by srun only"};
    return {linked,
            fmt::format("{} is {}", mpi.mpirun, or_else(mpi.mpirun_version, "of no MPI that dtrain knows"))};
}

std::vector<std::string> nccl_lines(const NcclReport& nccl) {
    std::vector<std::string> lines;
    if (!nccl.why_none.empty()) lines.push_back(nccl.why_none);
    if (!nccl.uses.empty()) lines.push_back("in use: " + join(nccl.uses, ", "));
    for (const auto& [name, value] : nccl.settings) lines.push_back(fmt::format("{}={}", name, value));
    if (nccl.settings.empty()) lines.emplace_back("no variable of NCCL is set");
    return lines;
}

std::string job_line(const MachineReport& report) {
    const std::string scheduler = report.scheduler.empty()
                                      ? std::string("no scheduler")
                                      : fmt::format("{} job {}", report.scheduler, report.job_id);
    return fmt::format("{}; {}", scheduler,
                       report.launcher.empty() ? std::string("not started by a launcher")
                                               : fmt::format("started by {}", report.launcher));
}

std::string driver_text(const GpuSoftware& gpu) {
    if (gpu.driver.empty()) return or_else(gpu.cuda_driver, "none found");
    return fmt::format("{}, of NVIDIA's driver {}", or_else(gpu.cuda_driver, "not told"), gpu.driver);
}

/// "2.28.9, compiled for CUDA 13.0; built with 2.27.3".
std::string nccl_text(const GpuSoftware& gpu) {
    auto text = gpu.nccl;
    if (!gpu.nccl_cuda.empty()) text += fmt::format(", compiled for CUDA {}", gpu.nccl_cuda);
    if (gpu.nccl_built != gpu.nccl) text += fmt::format("; built with {}", gpu.nccl_built);
    return text;
}

std::vector<std::string> version_lines(const MachineReport& report) {
    const auto& versions = report.versions;
    const std::string hwloc =
        versions.hwloc_built == versions.hwloc_running
            ? fmt::format("API {}", versions.hwloc_running)
            : fmt::format("API {}, built for {}", versions.hwloc_running, versions.hwloc_built);
    constexpr std::string_view without = "not built in";
    const auto without_nccl = report.nccl.why_none.empty() ? without : std::string_view("not here");
    return aligned({{"dtrain", versions.dtrain},
                    {"hwloc", hwloc},
                    {"HDF5", or_else(versions.hdf5, without)},
                    {"oneDNN", or_else(versions.onednn, without)},
                    {"CUDA runtime", or_else(versions.gpu.cuda_runtime, without_nccl)},
                    {"CUDA driver", driver_text(versions.gpu)},
                    {"NCCL", or_else(nccl_text(versions.gpu), without_nccl)}});
}

}  // namespace

std::string as_text(const MachineReport& report) {
    const Machine& machine = report.machine;
    std::string out;
    add(out, "Machine",
        {fmt::format(
            "{}{}", or_else(machine.hostname, "without a name"),
            machine.is_this_system ? "" : ", described by HWLOC_XMLFILE: not the one this runs on")});
    add(out, "Processors",
        {fmt::format("{}, {}, {}", counted(packages_of(machine), "package"),
                     counted(std::ssize(machine.cores), "core"),
                     counted(machine.allowed.count(), "hardware thread")),
         fmt::format("allowed on this machine: {}", or_else(machine.allowed.to_string(), "none"))});
    if (machine.is_this_system)
        add(out, "",
            {fmt::format("this process may run on: {}", or_else(report.affinity.to_string(), "none"))});
    add(out, "Memory", memory_lines(machine));
    add(out, "GPUs", gpu_lines(machine));
    add(out, "", issue_lines(report));
    add(out, "", {visible_line(report.visible)});
    add(out, "Adapters", adapter_lines(machine));
    add(out, "MPI", mpi_lines(report.mpi));
    add(out, "NCCL", nccl_lines(report.nccl));
    add(out, "Job", {job_line(report)});
    add(out, "Versions", version_lines(report));
    return out;
}

}  // namespace dtrain::worker
