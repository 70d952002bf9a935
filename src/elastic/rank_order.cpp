// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/rank_order.hpp"

#include <algorithm>
#include <unordered_set>

namespace dtrain::elastic {

std::vector<std::string> rank_order(const std::vector<std::string>& previous,
                                    const std::vector<std::string>& alive, int max) {
    const auto size = std::min(alive.size(), static_cast<std::size_t>(std::max(max, 0)));
    const std::unordered_set<std::string> present(alive.begin(), alive.end());
    const std::unordered_set<std::string> known(previous.begin(), previous.end());

    std::vector<std::string> order(size);  // "": free
    std::vector<std::string> waiting;      // nodes for the free ranks, in this order
    for (std::size_t rank = 0; rank < previous.size(); ++rank) {
        if (!present.contains(previous[rank])) continue;
        if (rank < size)
            order[rank] = previous[rank];
        else
            waiting.push_back(previous[rank]);
    }
    for (const auto& node : alive)
        if (!known.contains(node)) waiting.push_back(node);

    auto next = waiting.begin();
    for (auto& node : order)
        if (node.empty()) node = *next++;
    return order;
}

}  // namespace dtrain::elastic
