// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::elastic {

/// The nodes of the next start, by node rank: all that are alive, at most `max`.
///
/// A node of the last start keeps its rank if that still exists. If fewer nodes are left, those from the end
/// of the list fill the free ranks (0,1,2,3 without 0 becomes 3,1,2). New nodes, in the order of their
/// arrival, fill the remaining free ranks, then ranks at the end. If more nodes are alive than wanted, those
/// of the lowest ranks stay, before any new node.
/// @param previous the order of the last start; empty before the first
/// @param alive in the order of arrival, each once
std::vector<std::string> rank_order(const std::vector<std::string>& previous,
                                    const std::vector<std::string>& alive, int max);

}  // namespace dtrain::elastic
