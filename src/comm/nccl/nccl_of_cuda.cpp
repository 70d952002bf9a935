// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_of_cuda.hpp"

#include <cstring>
#include <dlfcn.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "base/host.hpp"
#include "comm/nccl/nccl_calls.hpp"
#include "comm/nccl/nccl_gpu_port.hpp"
#include "comm/nccl/nccl_library.hpp"

namespace dtrain::comm {
namespace {

/// Of the loaded library; computed once.
const std::string& cuda_of_loaded_nccl() {
    static const std::string cuda = [] {
        Dl_info library{};
        void* function = ::dlsym(RTLD_DEFAULT, "ncclGetVersion");
        if (function == nullptr || ::dladdr(function, &library) == 0) return std::string();
        return cuda_of_nccl(library.dli_fname);
    }();
    return cuda;
}

class NcclOfCuda final : public NcclModule {
  public:
    GpuVersions versions() const override {
        GpuVersions versions;
        auto& software = versions.software;
        int number = 0;
        if (cudaRuntimeGetVersion(&number) == cudaSuccess) software.cuda_runtime = cuda_version_text(number);
        number = 0;
        if (cudaDriverGetVersion(&number) == cudaSuccess) software.cuda_driver = cuda_version_text(number);
        if (ncclGetVersion(&number) == ncclSuccess) software.nccl = nccl_version_text(number);
        software.nccl_built = nccl_version_text(NCCL_VERSION_CODE);
        software.nccl_needed = nccl_version_text(DTRAIN_NCCL_NEEDED);
        software.nccl_cuda = cuda_of_loaded_nccl();
        versions.nccl_uses = {"calls that do not wait"};
        if (DTRAIN_NCCL_MEMORY) versions.nccl_uses.emplace_back("registered memory");
        if (DTRAIN_NCCL_SCALABLE) versions.nccl_uses.emplace_back("an id per 256 ranks");
        if (DTRAIN_NCCL_NAMES) versions.nccl_uses.emplace_back("names in its log");
        return versions;
    }

    NcclRendezvous rendezvous() const override {
        return {DTRAIN_NCCL_SCALABLE != 0, fmt::format("{}.{}.{}", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)};
    }

    int visible_gpus() const override {
        int count = 0;
        const auto result = cudaGetDeviceCount(&count);
        if (result == cudaErrorInsufficientDriver) {
            int driver = 0;
            int runtime = 0;
            cudaDriverGetVersion(&driver);
            cudaRuntimeGetVersion(&runtime);
            throw NcclError(fmt::format("{} has no GPU for NCCL: {}", host_name(),
                                        insufficient_driver_text(driver, runtime)));
        }
        check(result, "cudaGetDeviceCount");
        return count;
    }

    NcclUniqueId make_unique_id() const override {
        ncclUniqueId made;
        check(ncclGetUniqueId(&made), "ncclGetUniqueId");
        NcclUniqueId id;
        static_assert(sizeof(made) == sizeof(id));
        std::memcpy(id.data(), &made, sizeof(made));
        return id;
    }

    std::unique_ptr<NcclPort> make_port(const NcclPortOptions& options,
                                        std::vector<NcclUniqueId> ids) const override {
        return nccl_gpu_port(options, std::move(ids));
    }
};

}  // namespace
}  // namespace dtrain::comm

const dtrain::comm::NcclModule* dtrain_open_nccl() {
    static const dtrain::comm::NcclOfCuda module;
    return &module;
}
