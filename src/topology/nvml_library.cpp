// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/nvml_library.hpp"

#include <dlfcn.h>

namespace dtrain::topology {

void NvmlLibrary::Close::operator()(void* library) const {
    ::dlclose(library);
}

template <class Function>
void NvmlLibrary::find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(library_.get(), name));
}

NvmlLibrary::NvmlLibrary(const std::string& library)
    : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) return;
    find(init_, "nvmlInit_v2");
    find(shutdown_, "nvmlShutdown");
    find(get_count_, "nvmlDeviceGetCount_v2");
    find(get_handle_, "nvmlDeviceGetHandleByIndex_v2");
    find(get_pci_info_, "nvmlDeviceGetPciInfo_v3");
    find(get_uuid, "nvmlDeviceGetUUID");
    find(get_name, "nvmlDeviceGetName");
    find(get_mig_count, "nvmlDeviceGetMaxMigDeviceCount");
    find(get_mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex");
    find(get_ecc_errors, "nvmlDeviceGetTotalEccErrors");
    find(get_remapped_rows, "nvmlDeviceGetRemappedRows");
    find(get_pages_pending, "nvmlDeviceGetRetiredPagesPendingStatus");
    find(get_slowdowns, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(get_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    find(get_utilization, "nvmlDeviceGetUtilizationRates");
    find(get_memory, "nvmlDeviceGetMemoryInfo");
    find(get_power, "nvmlDeviceGetPowerUsage");
    find(get_temperature, "nvmlDeviceGetTemperature");
    find(get_driver_version, "nvmlSystemGetDriverVersion");
    find(get_cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
    const bool complete =
        init_ && shutdown_ && get_count_ && get_handle_ && get_pci_info_ && get_uuid && get_name;
    started_ = complete && init_() == success;
}

NvmlLibrary::~NvmlLibrary() {
    if (started_) shutdown_();
}

}  // namespace dtrain::topology
