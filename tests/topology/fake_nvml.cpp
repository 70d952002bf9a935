// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A library with NVML's names and a fixed answer, for machines without GPU: three GPUs in another order than
// PCI's; the second has four MIG slots, two of them in use.
#include <cstdio>
#include <cstring>

namespace {

struct FakeGpu {
    unsigned bus;
    const char* uuid;
    const char* name;
    unsigned mig_slots;
};
FakeGpu gpus[] = {{0x5f, "GPU-nvml-5f", "NVIDIA H200", 0},
                  {0x4e, "GPU-nvml-4e", "NVIDIA H200 MIG", 4},
                  {0x9a, "GPU-nvml-9a", "NVIDIA H200", 0}};
FakeGpu partitions[] = {{0, "MIG-nvml-a", "", 0}, {0, "MIG-nvml-b", "", 0}};
constexpr int success = 0, not_found = 6;

struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

}  // namespace

extern "C" {
int nvmlInit_v2() {
    return success;
}
int nvmlShutdown() {
    return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 3;
    return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, FakeGpu** gpu) {
    *gpu = &gpus[index];
    return success;
}
int nvmlDeviceGetPciInfo_v3(FakeGpu* gpu, PciInfo* info) {
    std::memset(info, 0, sizeof *info);
    info->bus = gpu->bus;
    return success;
}
int nvmlDeviceGetUUID(FakeGpu* gpu, char* text, unsigned size) {
    std::snprintf(text, size, "%s", gpu->uuid);
    return success;
}
int nvmlDeviceGetName(FakeGpu* gpu, char* text, unsigned size) {
    std::snprintf(text, size, "%s", gpu->name);
    return success;
}
int nvmlDeviceGetMaxMigDeviceCount(FakeGpu* gpu, unsigned* count) {
    *count = gpu->mig_slots;
    return success;
}
int nvmlDeviceGetMigDeviceHandleByIndex(FakeGpu*, unsigned slot, FakeGpu** partition) {
    if (slot % 2 == 1) return not_found;
    *partition = &partitions[slot / 2];
    return success;
}
}
