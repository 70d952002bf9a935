// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>

#include "metrics/run.hpp"

namespace dtrain::model {

/// The placement of each rank, by rank. Collective. @param first number of the first rank in the job: other
/// ranks may precede these
inline std::vector<metrics::RankPlace> gather_places(const Communicator& ranks, int first = 0) {
    const auto own = metrics::place_text(metrics::own_place(first + ranks.rank()));
    return metrics::places_of_texts(ranks.all_gather(own));
}

}  // namespace dtrain::model
