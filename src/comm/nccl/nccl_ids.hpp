// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>

/// Number of ids for the rendezvous of a large NCCL communicator, and the ranks that create them. Pure.
namespace dtrain::comm {

/// The bytes of an ncclUniqueId.
using NcclUniqueId = std::array<std::byte, 128>;

/// One for each 256 ranks: with more, NCCL itself makes ranks wait in turn at an id's root.
int nccl_ids_for(int ranks);

/// Which of `ids` ids this rank creates, if any. Ids are distributed evenly, as NCCL expects: the first rank
/// of each of `ids` segments of ranks, of which the first ranks % ids have one more (rankHasRoot in NCCL's
/// guide).
std::optional<int> nccl_id_made_by(int rank, int ranks, int ids);

}  // namespace dtrain::comm
