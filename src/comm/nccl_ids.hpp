// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>

/// By how many ids the ranks of a large NCCL communicator meet, and who makes them. Pure.
namespace dtrain::comm {

/// The bytes of an ncclUniqueId.
using NcclUniqueId = std::array<std::byte, 128>;

/// One for each 256 ranks: NCCL itself lets more ranks than that wait in turn at one id's root.
int nccl_ids_for(int ranks);

/// Which of `ids` ids this rank makes, if any. Ids are spread evenly, as NCCL expects it: the first rank of
/// each of `ids` segments of ranks, of which the first ranks % ids have one more (rankHasRoot in NCCL's
/// guide).
std::optional<int> nccl_id_made_by(int rank, int ranks, int ids);

}  // namespace dtrain::comm
