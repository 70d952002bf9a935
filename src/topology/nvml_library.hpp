// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// NVIDIA's management library, open while this object lives. The used part of nvml.h is declared here, so
/// that no CUDA Toolkit is needed to build. NVML keeps versioned names (_v2, _v3) and their structures
/// forever: https://docs.nvidia.com/deploy/nvml-api/
class NvmlLibrary {
  public:
    using Device = struct nvmlDevice_st*;
    using Result = int;
    static constexpr Result success = 0;
    static constexpr const char* usual_name = "libnvidia-ml.so.1";

    struct PciInfo {  // nvmlPciInfo_t
        std::array<char, 16> bus_id_legacy;
        unsigned domain;
        unsigned bus;
        unsigned device;
        unsigned pci_device_id;
        unsigned pci_subsystem_id;
        std::array<char, 32> bus_id;
    };
    struct Process {  // nvmlProcessInfo_t
        unsigned pid;
        unsigned long long memory;  // all bits set: unknown
        unsigned gpu_instance;
        unsigned compute_instance;
    };
    struct Utilization {  // nvmlUtilization_t, percent
        unsigned gpu;
        unsigned memory;
    };
    struct Memory {  // nvmlMemory_t, bytes
        unsigned long long total;
        unsigned long long free;
        unsigned long long used;
    };

    explicit NvmlLibrary(const std::string& library);
    NvmlLibrary(const NvmlLibrary&) = delete;
    NvmlLibrary& operator=(const NvmlLibrary&) = delete;
    ~NvmlLibrary();

    /// Calls function(device, PCI address) for the GPUs that report their address.
    /// @returns false if NVML does not even report the number of GPUs
    template <class Function>
    bool for_each_gpu(const Function& function) const {
        unsigned count = 0;
        if (!started_ || get_count_(&count) != success) return false;
        for (unsigned i = 0; i < count; ++i) {
            Device device = nullptr;
            PciInfo info{};
            if (get_handle_(i, &device) != success || get_pci_info_(device, &info) != success) continue;
            function(device, PciAddress{.domain = info.domain,
                                        .bus = static_cast<std::uint8_t>(info.bus),
                                        .device = static_cast<std::uint8_t>(info.device)});
        }
        return true;
    }

    bool started() const { return started_; }

    Result (*get_uuid)(Device, char*, unsigned) = nullptr;
    Result (*get_name)(Device, char*, unsigned) = nullptr;

    // Missing in some versions: may be null.
    Result (*get_mig_count)(Device, unsigned*) = nullptr;
    Result (*get_mig_handle)(Device, unsigned, Device*) = nullptr;
    Result (*get_ecc_errors)(Device, int, int, unsigned long long*) = nullptr;
    Result (*get_remapped_rows)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
    Result (*get_pages_pending)(Device, int*) = nullptr;
    Result (*get_slowdowns)(Device, unsigned long long*) = nullptr;
    Result (*get_processes)(Device, unsigned*, Process*) = nullptr;
    Result (*get_utilization)(Device, Utilization*) = nullptr;
    Result (*get_memory)(Device, Memory*) = nullptr;
    Result (*get_power)(Device, unsigned*) = nullptr;
    Result (*get_temperature)(Device, int, unsigned*) = nullptr;
    Result (*get_driver_version)(char*, unsigned) = nullptr;
    Result (*get_cuda_version)(int*) = nullptr;

  private:
    template <class Function>
    void find(Function*& function, const char* name);

    struct Close {
        void operator()(void* library) const;
    };

    Result (*init_)() = nullptr;
    Result (*shutdown_)() = nullptr;
    Result (*get_count_)(unsigned*) = nullptr;
    Result (*get_handle_)(unsigned, Device*) = nullptr;
    Result (*get_pci_info_)(Device, PciInfo*) = nullptr;
    std::unique_ptr<void, Close> library_;
    bool started_ = false;  // whether it is loaded and has all functions older than MIG and row remapping
};

}  // namespace dtrain::topology
