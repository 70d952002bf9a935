// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_bootstrap.hpp"

#include <cstring>
#include <optional>

#include <fmt/format.h>

#ifdef DTRAIN_WITH_CUDA
#include <cuda_runtime_api.h>
#include <nccl.h>
#endif

namespace dtrain::comm {
namespace {

#ifdef DTRAIN_WITH_CUDA
static_assert(sizeof(ncclUniqueId) == sizeof(NcclUniqueId));

std::optional<std::string> make_unique_id(NcclUniqueId& id) {
    ncclUniqueId made;
    const auto result = ncclGetUniqueId(&made);
    if (result != ncclSuccess) {
        const std::string reason = ncclGetLastError(nullptr);
        return fmt::format("ncclGetUniqueId failed: {}{}{}; NCCL_DEBUG=WARN tells more",
                           ncclGetErrorString(result), reason.empty() ? "" : ": ", reason);
    }
    std::memcpy(id.data(), &made, sizeof(made));
    return std::nullopt;
}

// 13000 is CUDA 13.0: 1000 * major + 10 * minor.
std::string cuda_version(int number) {
    return number == 0 ? "" : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}
#else
std::optional<std::string> make_unique_id(NcclUniqueId&) {
    return "NCCL is not built in: install the CUDA Toolkit and NCCL and build with -Dcuda=enabled";
}
#endif

}  // namespace

NcclUniqueId share_nccl_unique_id(const Communicator& communicator) {
    NcclUniqueId id{};
    throw_together<NcclError>(communicator, communicator.rank() == 0 ? make_unique_id(id) : std::nullopt);
    communicator.broadcast(std::span(id), 0);
    return id;
}

GpuVersions gpu_versions() {
    GpuVersions versions;
#ifdef DTRAIN_WITH_CUDA
    int number = 0;
    if (cudaRuntimeGetVersion(&number) == cudaSuccess) versions.cuda_runtime = cuda_version(number);
    number = 0;
    if (cudaDriverGetVersion(&number) == cudaSuccess) versions.cuda_driver = cuda_version(number);
    // From 2.9 on 10000 * major + 100 * minor + patch, before 1000 * major.
    if (ncclGetVersion(&number) == ncclSuccess) {
        const int scale = number < 10000 ? 1000 : 10000;
        versions.nccl = fmt::format("{}.{}.{}", number / scale, number % scale / 100, number % 100);
    }
#endif
    return versions;
}

}  // namespace dtrain::comm
