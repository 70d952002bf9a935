// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/nvml.hpp"

#include <array>
#include <utility>

#include "base/gpu_software.hpp"
#include "topology/nvml_library.hpp"

namespace dtrain::topology {
namespace {

using Device = NvmlLibrary::Device;
constexpr auto success = NvmlLibrary::success;
constexpr unsigned text_size = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE

std::string text_of(NvmlLibrary::Result (*get)(Device, char*, unsigned), Device device) {
    std::array<char, text_size> text{};
    return get(device, text.data(), text_size) == success ? std::string(text.data()) : std::string();
}

std::vector<std::string> mig_uuids_of(const NvmlLibrary& nvml, Device device) {
    std::vector<std::string> out;
    unsigned count = 0;
    if (!nvml.get_mig_count || !nvml.get_mig_handle || nvml.get_mig_count(device, &count) != success)
        return out;
    for (unsigned i = 0; i < count; ++i) {
        Device partition = nullptr;
        if (nvml.get_mig_handle(device, i, &partition) != success) continue;  // a slot without a partition
        if (auto uuid = text_of(nvml.get_uuid, partition); !uuid.empty()) out.push_back(std::move(uuid));
    }
    return out;
}

}  // namespace

std::optional<std::vector<NvmlGpu>> ask_nvml(const std::string& library) {
    const NvmlLibrary nvml(library);
    std::vector<NvmlGpu> gpus;
    const bool answered = nvml.for_each_gpu([&](Device device, const PciAddress& pci) {
        gpus.push_back({.pci = pci,
                        .uuid = text_of(nvml.get_uuid, device),
                        .model = text_of(nvml.get_name, device),
                        .mig_uuids = mig_uuids_of(nvml, device)});
    });
    return answered ? std::optional(std::move(gpus)) : std::nullopt;
}

NvmlDriver ask_nvml_driver(const std::string& library) {
    const NvmlLibrary nvml(library);
    NvmlDriver driver;
    if (!nvml.started()) return driver;
    std::array<char, text_size> text{};
    if (nvml.get_driver_version && nvml.get_driver_version(text.data(), text_size) == success)
        driver.version = text.data();
    int number = 0;
    if (nvml.get_cuda_version && nvml.get_cuda_version(&number) == success)
        driver.cuda = cuda_version_text(number);
    return driver;
}

}  // namespace dtrain::topology
