// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

namespace dtrain::comm {

/// NCCL is not built in, not installed or refuses.
class NcclError : public Error {
  public:
    explicit NcclError(const std::string& message) : Error(message) {}
};

/// The bytes of an ncclUniqueId.
using NcclUniqueId = std::array<std::byte, 128>;

/// Rank 0 makes an ncclUniqueId and all ranks get it. Collective.
/// @throws NcclError on all ranks with NCCL's own reason.
NcclUniqueId share_nccl_unique_id(const Communicator& communicator);

/// Versions as people write them ("13.0", "2.28.9"); empty for what is not built in or not there.
struct GpuVersions {
    std::string cuda_runtime;
    std::string cuda_driver;  ///< newest CUDA version that the driver supports
    std::string nccl;
};

/// Asks the libraries; initialises no GPU.
GpuVersions gpu_versions();

}  // namespace dtrain::comm
