// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/rank_gpu.hpp"

namespace dtrain::comm {

RankGpu gpu_of_rank(const Environment& environment, int node_rank, std::optional<int> visible) {
    constexpr auto variable = "FLAGS_selected_gpus";
    const auto selected = environment.get_or(variable, "");
    if (const auto first = selected.substr(0, selected.find(',')); !first.empty())
        return {Environment{{variable, first}}.get_int(variable).value_or(-1), variable};
    if (visible == 1) return {0, "the process"};
    return {node_rank, "the rank's number on its node"};
}

}  // namespace dtrain::comm
