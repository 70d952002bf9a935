// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/plan/plan.hpp"

namespace dtrain::launch {

/// What this launcher is among the launchers of a job.
enum class Part {
    alone,        ///< it needs no other: the job is on one node, or a scheduler or ssh reaches the others
    coordinator,  ///< others join it
    agent,        ///< it joins the coordinator, which is node 0's
};

/// For a job whose options name its nodes. Pure.
/// @param is_allocated the nodes are those of a scheduler's allocation
Part part_in(const Plan& plan, bool is_allocated);

}  // namespace dtrain::launch
