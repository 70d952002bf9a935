// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>

#include "metrics/run.hpp"

namespace dtrain::model {

/// The placement of each rank, by rank. Collective. @param first number of the first rank in the job: other
/// ranks may precede these
inline std::vector<metrics::RankLocation> gather_locations(const Communicator& ranks, int first = 0) {
    const auto own = metrics::location_text(metrics::own_location(first + ranks.rank()));
    return metrics::locations_of_texts(ranks.all_gather(own));
}

}  // namespace dtrain::model
