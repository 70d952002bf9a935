// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>

#include "metrics/run.hpp"
#include "train/phase_clock.hpp"

namespace dtrain::model {

/// What is known about exchanges, the same on all ranks.
struct ExchangesKnown {
    bool sees = true;      ///< Executor::sees_exchanges()
    bool compares = true;  ///< the clocks were settled
};

/// How each rank spent its time, on all ranks. Collective. @param own of this rank @param seconds since the
/// start: what no phase covers is the rest @param first see gather_locations()
std::vector<metrics::RankTimes> gather_times(const Communicator& ranks, const train::PhaseTimes& own,
                                             double seconds, const ExchangesKnown& known, int first = 0);

}  // namespace dtrain::model
