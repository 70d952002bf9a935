// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/own_node_rank.hpp"

#include <atomic>

#include "comm/api/launched.hpp"

namespace dtrain::comm {
namespace {

constexpr int not_known = -1;
std::atomic<int> noted{not_known};

}  // namespace

std::optional<int> own_node_rank(const Environment& environment) {
    const int rank = noted;
    if (rank != not_known) return rank;
    return is_launched(environment) ? std::nullopt : std::optional(0);
}

void note_own_node_rank(int rank) {
    noted = rank;
}

}  // namespace dtrain::comm
