// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/nccl.hpp>

#include "base/gpu_software.hpp"

namespace dtrain::comm {

using dtrain::NcclError;

/// The bytes of an ncclUniqueId.
using NcclUniqueId = std::array<std::byte, 128>;

/// Rank 0 makes an ncclUniqueId and all ranks get it. Collective.
/// @throws NcclError on all ranks with NCCL's own reason.
NcclUniqueId share_nccl_unique_id(const Communicator& communicator);

/// The same with several ids, each made by the first of the ranks that will meet there (nccl_ids.hpp).
/// @param ids 1 to the number of ranks
std::vector<NcclUniqueId> share_nccl_unique_ids(const Communicator& communicator, int ids);

struct GpuVersions {
    GpuSoftware software;                ///< but for the driver's own version
    std::vector<std::string> nccl_uses;  ///< what communicators use of it, by the header that was built with
};

/// Asks the libraries; initialises no GPU.
GpuVersions gpu_versions();

}  // namespace dtrain::comm
