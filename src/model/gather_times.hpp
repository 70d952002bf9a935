// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>

#include "model/phase_clock.hpp"
#include "report/run.hpp"

namespace dtrain::model {

/// What is known of exchanges, on all ranks alike.
struct ExchangesKnown {
    bool sees = true;      ///< Executor::sees_exchanges()
    bool compares = true;  ///< the clocks were settled
};

/// Where the time of each rank went, on all ranks. Collective.
/// @param own of this rank @param seconds since it began: what is left of them is the rest
/// @param first as gather_places()
std::vector<report::RankTimes> gather_times(const Communicator& ranks, const PhaseTimes& own, double seconds,
                                            const ExchangesKnown& known, int first = 0);

}  // namespace dtrain::model
