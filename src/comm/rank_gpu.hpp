// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// A number among the GPUs that a process sees.
struct RankGpu {
    int number = 0;
    std::string said_by;
};

/// The rank's GPU where the user did not say which: that of FLAGS_selected_gpus (-1 when that is no number),
/// or the only one, or that of the rank's number on its node. Pure.
/// @param visible how many the process sees, where that is known
RankGpu gpu_of_rank(const Environment& environment, int node_rank, std::optional<int> visible = {});

}  // namespace dtrain::comm
