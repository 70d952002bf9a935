// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>

#include "metrics/metric_row.hpp"
#include "metrics/run.hpp"
#include "topology/gpu_use.hpp"

namespace dtrain::model {

/// Utilisation of the GPUs of all ranks.
struct GpuFigures {
    std::vector<metrics::RankGpus> ranks;   ///< over the whole run; without ranks of which nothing is known
    std::vector<metrics::Measured> values;  ///< since the last call: gpu_utilization, gpu_watts
};

/// Collective. @param first see gather_locations()
GpuFigures gather_gpu_use(const Communicator& ranks, topology::GpuWatch& watch, int first = 0);

}  // namespace dtrain::model
