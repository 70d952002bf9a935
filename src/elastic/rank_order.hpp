// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::elastic {

/// The nodes of the next start, by node rank: as many as are alive, at most `most`.
///
/// Who was there before keeps its place, as far as there is that place; where fewer nodes are left, those
/// from the end of the list move into the holes (0,1,2,3 without 0 becomes 3,1,2), and newcomers, in the
/// order of their arrival, take the holes that are left, then places at the end. When more nodes are alive
/// than wanted, those of the lowest places stay, before any newcomer.
/// @param previous the order of the last start; empty before the first
/// @param alive in the order of arrival, each once
std::vector<std::string> rank_order(const std::vector<std::string>& previous,
                                    const std::vector<std::string>& alive, int max);

}  // namespace dtrain::elastic
