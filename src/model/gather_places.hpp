// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>

#include "report/run.hpp"

namespace dtrain::model {

/// Where each rank is, by rank. Collective.
inline std::vector<report::RankPlace> gather_places(const Communicator& ranks) {
    const auto own = report::place_text(report::own_place(ranks.rank()));
    return report::places_of_texts(ranks.allgather(own));
}

}  // namespace dtrain::model
