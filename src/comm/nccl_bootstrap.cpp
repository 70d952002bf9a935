// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_bootstrap.hpp"

#include <cstring>
#include <dlfcn.h>
#include <optional>

#include <fmt/format.h>

#include "comm/nccl_ids.hpp"
#ifdef DTRAIN_WITH_CUDA
#include "comm/nccl_calls.hpp"
#include "comm/nccl_library.hpp"
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

/// Of the library that this process has loaded, which keeps it.
const std::string& cuda_of_loaded_nccl() {
    static const std::string cuda = [] {
        Dl_info library{};
        void* function = ::dlsym(RTLD_DEFAULT, "ncclGetVersion");
        if (function == nullptr || ::dladdr(function, &library) == 0) return std::string();
        return cuda_of_nccl(library.dli_fname);
    }();
    return cuda;
}
#else
std::optional<std::string> make_unique_id(NcclUniqueId&) {
    return "built without CUDA: install the CUDA Toolkit and NCCL and build with -Dcuda=enabled";
}
#endif

}  // namespace

NcclUniqueId share_nccl_unique_id(const Communicator& communicator) {
    return share_nccl_unique_ids(communicator, 1).front();
}

std::vector<NcclUniqueId> share_nccl_unique_ids(const Communicator& communicator, int ids) {
    std::vector<NcclUniqueId> all(static_cast<std::size_t>(ids));
    const auto own = nccl_id_made_by(communicator.rank(), communicator.size(), ids);
    throw_together<NcclError>(communicator,
                              own ? make_unique_id(all[static_cast<std::size_t>(*own)]) : std::nullopt);
    if (ids == 1) {
        communicator.broadcast(std::span(all), 0);
        return all;
    }
    // Where other ranks put theirs, this one has zeros: one sum brings all to all.
    std::vector<std::uint8_t> bytes(all.size() * sizeof(NcclUniqueId));
    std::memcpy(bytes.data(), all.data(), bytes.size());
    communicator.allreduce(std::span(bytes));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

GpuVersions gpu_versions() {
    GpuVersions versions;
#ifdef DTRAIN_WITH_CUDA
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
#endif
    return versions;
}

}  // namespace dtrain::comm
