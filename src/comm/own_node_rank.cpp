// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/own_node_rank.hpp"

#include <atomic>

namespace dtrain::comm {
namespace {

std::atomic<int> noted{0};

}  // namespace

int own_node_rank() {
    return noted;
}

void note_own_node_rank(int rank) {
    noted = rank;
}

}  // namespace dtrain::comm
