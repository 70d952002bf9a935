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

/// The rank's GPU if the user did not choose one: that of FLAGS_selected_gpus (-1 if that is not a number),
/// or the only one, or the one whose number is the rank's local rank. Pure.
/// @param visible number of GPUs that the process sees, if known
RankGpu gpu_of_rank(const Environment& environment, int node_rank, std::optional<int> visible = {});

}  // namespace dtrain::comm
