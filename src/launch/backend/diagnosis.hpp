// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "protocol/rank_list.hpp"

namespace dtrain::launch {

/// What a launch backend's own messages say about the end of a job.
struct BackendDiagnosis {
    std::string lost_node;                   ///< as the backend names it; "" if no message names one
    std::optional<cluster::RankList> died;   ///< ranks that died by themselves
    std::optional<int> left_mpi;             ///< the rank that left MPI while others were in it
    std::optional<std::string> not_started;  ///< why a node could not be reached at the job's start
    std::optional<std::string> cancelled;    ///< by whom and why the job was cancelled
};

}  // namespace dtrain::launch
