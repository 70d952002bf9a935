// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_ids.hpp"

#include <algorithm>

namespace dtrain::comm {
namespace {

constexpr int ranks_per_id = 256;

}  // namespace

int nccl_ids_for(int ranks) {
    return std::max(1, (ranks + ranks_per_id - 1) / ranks_per_id);
}

std::optional<int> nccl_id_made_by(int rank, int ranks, int ids) {
    const int longer = ranks % ids;
    const int length = ranks / ids;
    const int in_longer = longer * (length + 1);
    const bool first_part = rank < in_longer;
    const int each = first_part ? length + 1 : length;
    const int position = first_part ? rank : rank - in_longer;
    if (position % each != 0) return std::nullopt;
    return position / each + (first_part ? 0 : longer);
}

}  // namespace dtrain::comm
