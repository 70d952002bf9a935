// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/gpu_software.hpp"
#include "comm/nccl/nccl_choice.hpp"
#include "comm/nccl/nccl_ids.hpp"
#include "comm/nccl/nccl_port.hpp"

namespace dtrain::comm {

struct GpuVersions {
    GpuSoftware software;                ///< except the driver's own version
    std::vector<std::string> nccl_uses;  ///< NCCL features that communicators use, by the header of the build
    std::string why_none;                ///< "" if the module could be opened
};

struct NcclPortOptions {
    std::string name;
    int device = 0;
    int rank = 0;
    int size = 1;
    void* stream = nullptr;  ///< the computing stream
};

/// All code of dtrain that calls NCCL and CUDA's runtime for communicators. It is a separate module
/// (libdtrain_nccl.so), so that the library and the programs also run where neither is installed.
class NcclModule {
  public:
    virtual ~NcclModule() = default;

    /// Asks the libraries; does not initialise a GPU.
    virtual GpuVersions versions() const = 0;
    virtual NcclRendezvous rendezvous() const = 0;

    /// Number of GPUs that this process sees. @throws NcclError with CUDA's reason if there are none
    virtual int visible_gpus() const = 0;

    /// @throws NcclError with NCCL's own reason
    virtual NcclUniqueId make_unique_id() const = 0;

    /// NCCL itself. Creates the stream on the GPU; the communicator is created by join(). @throws NcclError
    virtual std::unique_ptr<NcclPort> make_port(const NcclPortOptions& options,
                                                std::vector<NcclUniqueId> ids) const = 0;
};

/// Opened by the first call, and never closed. @throws NcclUnavailable naming the library that is missing on
/// this host
const NcclModule& nccl_module();

/// The module's versions, or why it could not be opened.
GpuVersions gpu_versions();

/// Replaces the module file, for programs that it is linked into; call it before the first nccl_module().
void use_nccl_module(const NcclModule& module);

}  // namespace dtrain::comm
