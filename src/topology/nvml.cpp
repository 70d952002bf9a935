// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/nvml.hpp"

#include <array>
#include <dlfcn.h>
#include <memory>

namespace dtrain::topology {
namespace {

// The part of nvml.h that is used, so that no CUDA Toolkit is needed to build. NVML keeps versioned names
// (_v2, _v3) and their structures for ever: https://docs.nvidia.com/deploy/nvml-api/
using Device = struct nvmlDevice_st*;
using Result = int;
constexpr Result success = 0;
constexpr unsigned text_size = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE

struct PciInfo {  // nvmlPciInfo_t
    std::array<char, 16> bus_id_legacy;
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_subsystem_id;
    std::array<char, 32> bus_id;
};

struct Close {
    void operator()(void* library) const { ::dlclose(library); }
};

class Nvml {
  public:
    explicit Nvml(const std::string& library) : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!library_) return;
        find(init, "nvmlInit_v2");
        find(shutdown, "nvmlShutdown");
        find(get_count, "nvmlDeviceGetCount_v2");
        find(get_handle, "nvmlDeviceGetHandleByIndex_v2");
        find(get_pci_info, "nvmlDeviceGetPciInfo_v3");
        find(get_uuid, "nvmlDeviceGetUUID");
        find(get_name, "nvmlDeviceGetName");
        const bool complete =
            init && shutdown && get_count && get_handle && get_pci_info && get_uuid && get_name;
        // Drivers before 450 know no MIG.
        find(get_mig_count, "nvmlDeviceGetMaxMigDeviceCount");
        find(get_mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex");
        started_ = complete && init() == success;
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;
    ~Nvml() {
        if (started_) shutdown();
    }
    bool started() const { return started_; }

    Result (*init)() = nullptr;
    Result (*shutdown)() = nullptr;
    Result (*get_count)(unsigned*) = nullptr;
    Result (*get_handle)(unsigned, Device*) = nullptr;
    Result (*get_pci_info)(Device, PciInfo*) = nullptr;
    Result (*get_uuid)(Device, char*, unsigned) = nullptr;
    Result (*get_name)(Device, char*, unsigned) = nullptr;
    Result (*get_mig_count)(Device, unsigned*) = nullptr;
    Result (*get_mig_handle)(Device, unsigned, Device*) = nullptr;

  private:
    template <class Function>
    void find(Function*& function, const char* name) {
        function = reinterpret_cast<Function*>(::dlsym(library_.get(), name));
    }

    std::unique_ptr<void, Close> library_;
    bool started_ = false;
};

std::string text_of(Result (*get)(Device, char*, unsigned), Device device) {
    std::array<char, text_size> text{};
    return get(device, text.data(), text_size) == success ? std::string(text.data()) : std::string();
}

std::vector<std::string> mig_uuids_of(const Nvml& nvml, Device device) {
    std::vector<std::string> out;
    unsigned count = 0;
    if (!nvml.get_mig_count || !nvml.get_mig_handle || nvml.get_mig_count(device, &count) != success)
        return out;
    for (unsigned i = 0; i < count; ++i) {
        Device partition = nullptr;
        if (nvml.get_mig_handle(device, i, &partition) != success) continue;  // a slot without partition
        if (auto uuid = text_of(nvml.get_uuid, partition); !uuid.empty()) out.push_back(std::move(uuid));
    }
    return out;
}

}  // namespace

std::optional<std::vector<NvmlGpu>> ask_nvml(const std::string& library) {
    const Nvml nvml(library);
    unsigned count = 0;
    if (!nvml.started() || nvml.get_count(&count) != success) return std::nullopt;
    std::vector<NvmlGpu> gpus;
    for (unsigned i = 0; i < count; ++i) {
        Device device = nullptr;
        PciInfo pci{};
        if (nvml.get_handle(i, &device) != success || nvml.get_pci_info(device, &pci) != success) continue;
        gpus.push_back({.pci = {.domain = pci.domain,
                                .bus = static_cast<std::uint8_t>(pci.bus),
                                .device = static_cast<std::uint8_t>(pci.device)},
                        .uuid = text_of(nvml.get_uuid, device),
                        .model = text_of(nvml.get_name, device),
                        .mig_uuids = mig_uuids_of(nvml, device)});
    }
    return gpus;
}

}  // namespace dtrain::topology
