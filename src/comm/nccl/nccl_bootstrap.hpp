// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/nccl.hpp>

#include "comm/nccl/nccl_ids.hpp"

namespace dtrain::comm {

using dtrain::NcclError;

/// Rank 0 creates an ncclUniqueId and all ranks receive it. Collective. @throws NcclError on all ranks with
/// NCCL's own reason.
NcclUniqueId share_nccl_unique_id(const Communicator& communicator);

/// The same with several ids, each created by the first of the ranks that use it (nccl_ids.hpp).
/// @param ids 1 to the number of ranks
std::vector<NcclUniqueId> share_nccl_unique_ids(const Communicator& communicator, int ids);

}  // namespace dtrain::comm
