// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A library with NVML's names and a fixed answer, for machines without GPU: three GPUs in another order than
// PCI's; the second has four MIG slots, two of them in use. The first is ill in every way, the second has
// work and is at its power limit, the third tells nothing but its name. Its driver is that of CUDA 13.0, or
// of the one in FAKE_NVML_CUDA (12040 is 12.4).
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct FakeGpu {
    unsigned bus;
    const char* uuid;
    const char* name;
    unsigned mig_slots;
    bool is_ill = false;
};
FakeGpu gpus[] = {{0x5f, "GPU-nvml-5f", "NVIDIA H200", 0, true},
                  {0x4e, "GPU-nvml-4e", "NVIDIA H200 MIG", 4},
                  {0x9a, "GPU-nvml-9a", "NVIDIA H200", 0}};
FakeGpu partitions[] = {{0, "MIG-nvml-a", "", 0}, {0, "MIG-nvml-b", "", 0}};
constexpr int success = 0, not_supported = 3, not_found = 6;

struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};
struct Process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

bool is_silent(const FakeGpu* gpu) {
    return gpu == &gpus[2];
}

}  // namespace

extern "C" {
int nvmlInit_v2() {
    return success;
}
int nvmlShutdown() {
    return success;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
    std::snprintf(text, size, "%s", std::getenv("FAKE_NVML_CUDA") != nullptr ? "550.54.15" : "580.65.06");
    return success;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    const char* value = std::getenv("FAKE_NVML_CUDA");
    *version = value != nullptr ? std::atoi(value) : 13000;
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
int nvmlDeviceGetTotalEccErrors(FakeGpu* gpu, int type, int counter, unsigned long long* count) {
    if (is_silent(gpu) || type != 1 || counter != 0) return not_supported;
    *count = gpu->is_ill ? 2 : 0;
    return success;
}
int nvmlDeviceGetRemappedRows(FakeGpu* gpu, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
    if (is_silent(gpu)) return not_supported;
    *corrected = *uncorrected = *pending = *failed = gpu->is_ill ? 1 : 0;
    return success;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(FakeGpu* gpu, unsigned long long* reasons) {
    if (is_silent(gpu)) return not_supported;
    *reasons = gpu->is_ill ? 0x8 | 0x40 | 0x80 : 0x4;
    return success;
}
int nvmlDeviceGetComputeRunningProcesses_v3(FakeGpu* gpu, unsigned* count, Process* processes) {
    if (is_silent(gpu)) return not_supported;
    if (*count < 2) return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
    *count = 2;
    processes[0] = {4242, 3ULL << 30, ~0U, ~0U};
    processes[1] = {4243, ~0ULL, ~0U, ~0U};
    return success;
}
int nvmlDeviceGetUtilizationRates(FakeGpu* gpu, unsigned (*percent)[2]) {
    if (is_silent(gpu)) return not_supported;
    (*percent)[0] = 97;
    (*percent)[1] = 40;
    return success;
}
int nvmlDeviceGetMemoryInfo(FakeGpu* gpu, unsigned long long (*bytes)[3]) {
    if (is_silent(gpu)) return not_supported;
    (*bytes)[0] = 8ULL << 30;
    (*bytes)[1] = 5ULL << 30;
    (*bytes)[2] = 3ULL << 30;
    return success;
}
int nvmlDeviceGetPowerUsage(FakeGpu* gpu, unsigned* milliwatts) {
    if (is_silent(gpu)) return not_supported;
    *milliwatts = 651'500;
    return success;
}
int nvmlDeviceGetTemperature(FakeGpu* gpu, int sensor, unsigned* celsius) {
    if (is_silent(gpu) || sensor != 0) return not_supported;
    *celsius = 91;
    return success;
}
}
