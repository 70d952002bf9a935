// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/row_sums.hpp"

namespace dtrain::ps {

void merge_repeated(DistinctIds& distinct, std::size_t width, std::vector<std::int64_t>& ids,
                    std::vector<float>& values) {
    if (!distinct.find_repeated(ids)) return;
    // In-place is safe: the destination never lies after the row being read.
    add_rows_up(distinct.indices(), values, width,
                [&](std::uint32_t index) { return &values[index * width]; });
    ids.assign(distinct.ids().begin(), distinct.ids().end());
    values.resize(ids.size() * width);
}

}  // namespace dtrain::ps
