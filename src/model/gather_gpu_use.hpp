// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>

#include "report/metric_row.hpp"
#include "report/run.hpp"
#include "topology/gpu_use.hpp"

namespace dtrain::model {

/// How the GPUs of all ranks were used.
struct GpuFigures {
    std::vector<report::RankGpus> ranks;   ///< while they ran; without ranks of which nothing is known
    std::vector<report::Measured> values;  ///< since the last time: gpu_utilization, gpu_watts
};

/// Collective. @param first as gather_places()
GpuFigures gather_gpu_use(const Communicator& ranks, topology::GpuWatch& watch, int first = 0);

}  // namespace dtrain::model
