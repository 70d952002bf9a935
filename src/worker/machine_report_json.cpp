// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "topology/gpu_issues.hpp"
#include "worker/machine_info.hpp"
#include "worker/machine_report.hpp"

namespace dtrain::worker {
namespace {

using Json = nlohmann::ordered_json;
using topology::Machine;

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json numa_json(const Machine& machine) {
    Json nodes = Json::array();
    for (const auto& node : machine.numa_nodes)
        nodes.push_back({{"node", node.os_index},
                         {"cpus", node.cpus.to_string()},
                         {"cores", cores_in(machine, node.cpus)},
                         {"memory_bytes", node.memory_bytes}});
    return nodes;
}

const char* name_of(topology::GpuSlowdown slowdown) {
    switch (slowdown) {
        case topology::GpuSlowdown::hot:
            return "hot";
        case topology::GpuSlowdown::power_brake:
            return "power_brake";
        case topology::GpuSlowdown::power_cap:
            return "power_cap";
        case topology::GpuSlowdown::hardware:
            return "hardware";
    }
    return "";
}

Json health_json(const topology::GpuHealth* health) {
    if (health == nullptr) return nullptr;
    Json slowdowns = Json::array();
    for (const auto slowdown : health->slowdowns) slowdowns.push_back(name_of(slowdown));
    Json processes = Json::array();
    for (const auto& [pid, memory] : health->processes)
        processes.push_back({{"pid", pid}, {"memory_bytes", or_null(memory)}});
    Json xids = Json::array();
    for (const auto& xid : health->xids) xids.push_back({{"number", xid.number}, {"text", xid.text}});
    return {{"uncorrected_errors", or_null(health->uncorrected_errors)},
            {"row_failed", health->row_failed},
            {"row_pending", health->row_pending},
            {"slowdowns", slowdowns},
            {"processes", processes},
            {"xids", xids},
            {"utilization_percent", or_null(health->utilization)},
            {"memory_used_bytes", or_null(health->memory_used)},
            {"memory_total_bytes", or_null(health->memory_total)},
            {"watts", or_null(health->watts)},
            {"celsius", or_null(health->celsius)}};
}

Json issues_json(const topology::GpuHealth* health) {
    Json issues = Json::array();
    if (health != nullptr)
        for (const auto& issue : topology::issues_of(*health))
            issues.push_back({{"fault", issue.is_fault}, {"text", issue.text}, {"remedy", issue.remedy}});
    return issues;
}

Json gpus_json(const MachineReport& report) {
    const auto& machine = report.machine;
    Json gpus = Json::array();
    for (const auto& gpu : machine.gpus) {
        const auto* const health = health_of(gpu, report.health);
        gpus.push_back({{"index", gpu.index},
                        {"pci", gpu.pci.to_string()},
                        {"model", or_null(gpu.model)},
                        {"uuid", or_null(gpu.uuid)},
                        {"mig_uuids", gpu.mig_uuids},
                        {"near_cpus", gpu.has_locality ? Json(gpu.local_cpus.to_string()) : Json(nullptr)},
                        {"numa_nodes", numa_nodes_near(machine, gpu.local_cpus)},
                        {"adapter", or_null(adapter_near(machine, gpu))},
                        {"health", health_json(health)},
                        {"issues", issues_json(health)}});
    }
    return gpus;
}

Json other_gpus_json(const MachineReport& report) {
    Json gpus = Json::array();
    for (const auto& health : other_gpus(report.machine, report.health))
        gpus.push_back({{"pci", health.pci.to_string()},
                        {"health", health_json(&health)},
                        {"issues", issues_json(&health)}});
    return gpus;
}

Json adapters_json(const Machine& machine) {
    Json adapters = Json::array();
    for (const auto& adapter : machine.adapters)
        adapters.push_back({{"name", adapter.name},
                            {"pci", adapter.pci.to_string()},
                            {"rdma", adapter.rdma},
                            {"near_cpus", or_null(adapter.local_cpus.to_string())},
                            {"numa_nodes", numa_nodes_near(machine, adapter.local_cpus)}});
    return adapters;
}

Json visible_json(const VisibleReport& visible) {
    Json devices = Json::array();
    for (const auto& device : visible.devices)
        devices.push_back({{"id", device.id}, {"gpu", or_null(device.index)}});
    return {{"value", or_null(visible.variable)}, {"devices", devices}, {"error", or_null(visible.error)}};
}

Json nccl_json(const NcclReport& nccl) {
    Json settings = Json::object();
    for (const auto& [name, value] : nccl.settings) settings[name] = value;
    return {{"uses", nccl.uses}, {"unavailable", or_null(nccl.why_none)}, {"settings", settings}};
}

}  // namespace

std::string as_json(const MachineReport& report) {
    const Machine& machine = report.machine;
    const VersionReport& versions = report.versions;
    const Json json = {
        {"schema", 1},
        {"hostname", or_null(machine.hostname)},
        {"this_system", machine.is_this_system},
        {"packages", packages_of(machine)},
        {"cores", machine.cores.size()},
        {"hardware_threads", machine.allowed.count()},
        {"allowed_cpus", machine.allowed.to_string()},
        {"affinity_cpus", report.affinity.to_string()},
        {"numa_nodes", numa_json(machine)},
        {"gpus", gpus_json(report)},
        {"other_gpus", other_gpus_json(report)},
        {"adapters", adapters_json(machine)},
        {"cuda_visible_devices", visible_json(report.visible)},
        {"nccl", nccl_json(report.nccl)},
        {"mpi",
         {{"flavour", or_null(report.mpi.flavour)},
          {"version", or_null(report.mpi.version)},
          {"mpirun", or_null(report.mpi.mpirun)},
          {"mpirun_version", or_null(report.mpi.mpirun_version)}}},
        {"job",
         {{"scheduler", or_null(report.scheduler)},
          {"job_id", or_null(report.job_id)},
          {"launcher", or_null(report.launcher)}}},
        {"versions",
         {{"dtrain", or_null(versions.dtrain)},
          {"hwloc_built", or_null(versions.hwloc_built)},
          {"hwloc_running", or_null(versions.hwloc_running)},
          {"hdf5", or_null(versions.hdf5)},
          {"cuda_runtime", or_null(versions.gpu.cuda_runtime)},
          {"cuda_driver", or_null(versions.gpu.cuda_driver)},
          {"gpu_driver", or_null(versions.gpu.driver)},
          {"nccl", or_null(versions.gpu.nccl)},
          {"nccl_built", or_null(versions.gpu.nccl_built)},
          {"nccl_needed", or_null(versions.gpu.nccl_needed)},
          {"nccl_cuda", or_null(versions.gpu.nccl_cuda)},
          {"onednn", or_null(versions.onednn)}}},
    };
    // The environment may contain bytes that are not UTF-8; the report must not fail because of them.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dtrain::worker
