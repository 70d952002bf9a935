// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/model.hpp>

#include "metrics/run.hpp"

namespace dtrain {

/// What callbacks of the library reach in a Model.
struct detail::ModelAccess {
    /// How all ranks spent their time since fit() began, at the end of the last epoch.
    static const std::vector<metrics::RankTimes>& rank_times(const Model& model);
    static bool has_servers(const Model& model);
};

}  // namespace dtrain
