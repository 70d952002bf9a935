// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::train {

/// A rank's part of each global batch: `own` of `ranks` equal parts, from `first` on.
struct RankParts {
    int first = 0;
    int own = 1;
    int ranks = 1;
    bool are_virtual = false;
};

/// @param virtual_ranks 0: the real ranks share @throws UsageError if there are fewer virtual ranks than
/// ranks
RankParts parts_of(int rank, int ranks, int virtual_ranks);

}  // namespace dtrain::train
