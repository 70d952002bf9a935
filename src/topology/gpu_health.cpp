// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/gpu_health.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

namespace dtrain::topology {
namespace {

using Device = NvmlLibrary::Device;

std::optional<std::uint64_t> uncorrected_errors(const NvmlLibrary& nvml, Device device) {
    constexpr int uncorrected = 1;       // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
    constexpr int since_the_driver = 0;  // NVML_VOLATILE_ECC
    unsigned long long count = 0;
    if (!nvml.get_ecc_errors ||
        nvml.get_ecc_errors(device, uncorrected, since_the_driver, &count) != NvmlLibrary::success)
        return std::nullopt;
    return count;
}

void ask_for_rows(const NvmlLibrary& nvml, Device device, GpuHealth& health) {
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    if (nvml.get_remapped_rows &&
        nvml.get_remapped_rows(device, &corrected, &uncorrected, &pending, &failed) == NvmlLibrary::success) {
        health.row_pending = pending != 0;
        health.row_failed = failed != 0;
    }
    int pages = 0;  // GPUs before Ampere retire pages instead of rows
    if (nvml.get_pages_pending && nvml.get_pages_pending(device, &pages) == NvmlLibrary::success)
        health.row_pending = health.row_pending || pages != 0;
}

std::vector<GpuSlowdown> slowdowns(const NvmlLibrary& nvml, Device device) {
    // nvmlClocksThrottleReason...: SwPowerCap, HwSlowdown, SwThermalSlowdown, HwThermalSlowdown,
    // HwPowerBrakeSlowdown. HwSlowdown is also set together with each of the last two.
    constexpr unsigned long long power_cap = 0x4, hardware = 0x8, hot = 0x20 | 0x40, power_brake = 0x80;
    unsigned long long reasons = 0;
    std::vector<GpuSlowdown> out;
    if (!nvml.get_slowdowns || nvml.get_slowdowns(device, &reasons) != NvmlLibrary::success) return out;
    if ((reasons & hot) != 0) out.push_back(GpuSlowdown::hot);
    if ((reasons & power_brake) != 0) out.push_back(GpuSlowdown::power_brake);
    if ((reasons & power_cap) != 0) out.push_back(GpuSlowdown::power_cap);
    if ((reasons & hardware) != 0 && (reasons & (hot | power_brake)) == 0)
        out.push_back(GpuSlowdown::hardware);
    return out;
}

std::vector<GpuProcess> processes(const NvmlLibrary& nvml, Device device) {
    std::array<NvmlLibrary::Process, 64> found{};
    auto count = static_cast<unsigned>(found.size());
    std::vector<GpuProcess> out;
    if (!nvml.get_processes || nvml.get_processes(device, &count, found.data()) != NvmlLibrary::success)
        return out;
    for (unsigned i = 0; i < count; ++i) {
        const auto memory = found.at(i).memory;
        const bool is_reported = memory != std::numeric_limits<unsigned long long>::max();
        out.push_back({found.at(i).pid, is_reported ? std::optional<std::uint64_t>(memory) : std::nullopt});
    }
    return out;
}

void ask_for_load(const NvmlLibrary& nvml, Device device, GpuHealth& health) {
    NvmlLibrary::Utilization utilization{};
    if (nvml.get_utilization && nvml.get_utilization(device, &utilization) == NvmlLibrary::success)
        health.utilization = static_cast<int>(utilization.gpu);
    NvmlLibrary::Memory memory{};
    if (nvml.get_memory && nvml.get_memory(device, &memory) == NvmlLibrary::success) {
        health.memory_used = memory.used;
        health.memory_total = memory.total;
    }
    unsigned milliwatts = 0;
    if (nvml.get_power && nvml.get_power(device, &milliwatts) == NvmlLibrary::success)
        health.watts = 1e-3 * milliwatts;
    constexpr int of_the_chip = 0;  // NVML_TEMPERATURE_GPU
    unsigned celsius = 0;
    if (nvml.get_temperature && nvml.get_temperature(device, of_the_chip, &celsius) == NvmlLibrary::success)
        health.celsius = static_cast<int>(celsius);
}

}  // namespace

std::vector<GpuHealth> ask_gpu_health(const std::string& library, const std::filesystem::path& kernel_log) {
    const NvmlLibrary nvml(library);
    std::optional<std::vector<Xid>> logged;  // the whole of the log, in as many reads as it has lines
    std::vector<GpuHealth> gpus;
    nvml.for_each_gpu([&](Device device, const PciAddress& pci) {
        if (!logged) logged = logged_xids(kernel_log);
        GpuHealth health{.pci = pci};
        health.uncorrected_errors = uncorrected_errors(nvml, device);
        ask_for_rows(nvml, device, health);
        health.slowdowns = slowdowns(nvml, device);
        health.processes = processes(nvml, device);
        ask_for_load(nvml, device, health);
        std::ranges::copy_if(*logged, std::back_inserter(health.xids),
                             [&](const Xid& xid) { return pci.to_string().starts_with(xid.gpu); });
        gpus.push_back(std::move(health));
    });
    return gpus;
}

std::vector<GpuHealth> ask_gpu_load(const NvmlLibrary& nvml,
                                    const std::optional<std::vector<PciAddress>>& gpus) {
    std::vector<GpuHealth> loads;
    nvml.for_each_gpu([&](Device device, const PciAddress& pci) {
        if (gpus && std::ranges::find(*gpus, pci) == gpus->end()) return;
        GpuHealth load{.pci = pci};
        ask_for_load(nvml, device, load);
        loads.push_back(std::move(load));
    });
    return loads;
}

std::optional<std::vector<PciAddress>> shown_gpus(const Machine& machine,
                                                  const std::optional<std::string>& cuda_visible_devices) {
    if (machine.gpus.empty()) return std::nullopt;
    std::vector<PciAddress> shown;
    for (const auto& gpu : visible_gpus(machine, cuda_visible_devices))
        if (gpu.index) shown.push_back(machine.gpus.at(static_cast<std::size_t>(*gpu.index)).pci);
    return shown;
}

}  // namespace dtrain::topology
