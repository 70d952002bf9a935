// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "train/rank_parts.hpp"

#include "program/exchange/virtual_tree.hpp"

namespace dtrain::train {

RankParts parts_of(int rank, int ranks, int virtual_ranks) {
    if (virtual_ranks == 0) return {rank, 1, ranks, false};
    const auto own = program::virtual_ranks_of(rank, ranks, virtual_ranks);
    return {own.begin, own.end - own.begin, virtual_ranks, true};
}

}  // namespace dtrain::train
