// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/gpu_software.hpp"
#include "comm/nccl_choice.hpp"
#include "comm/nccl_ids.hpp"
#include "comm/nccl_port.hpp"

namespace dtrain::comm {

struct GpuVersions {
    GpuSoftware software;                ///< but for the driver's own version
    std::vector<std::string> nccl_uses;  ///< what communicators use of it, by the header that was built with
    std::string why_none;                ///< "" where the module could be opened
};

struct NcclPortOptions {
    std::string name;
    int device = 0;
    int rank = 0;
    int size = 1;
    void* stream = nullptr;  ///< that computes
};

/// All of dtrain that calls NCCL and CUDA's runtime for communicators. It is a module of its own
/// (libdtrain_nccl.so): the library and the programs also run where neither is installed.
class NcclModule {
  public:
    virtual ~NcclModule() = default;

    /// Asks the libraries; initialises no GPU.
    virtual GpuVersions versions() const = 0;
    virtual NcclRendezvous rendezvous() const = 0;

    /// GPUs that this process sees. @throws NcclError with CUDA's reason when there are none
    virtual int visible_gpus() const = 0;

    /// @throws NcclError with NCCL's own reason
    virtual NcclUniqueId make_unique_id() const = 0;

    /// NCCL itself. Makes the stream on the GPU; the communicator is made by join(). @throws NcclError
    virtual std::unique_ptr<NcclPort> make_port(const NcclPortOptions& options,
                                                std::vector<NcclUniqueId> ids) const = 0;
};

/// Opened by the first call, and never closed. @throws NcclUnavailable which library is missing on this host
const NcclModule& nccl_module();

/// Its versions, or why there is none.
GpuVersions gpu_versions();

/// In place of the one in a file, for programs that it is linked into; before the first nccl_module().
void use_nccl_module(const NcclModule& module);

}  // namespace dtrain::comm
