// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <vector>

#include <dtrain/environment.hpp>
#include <dtrain/node_communicator.hpp>

#include "base/random_id.hpp"
#include "comm/failure/deadline.hpp"
#include "comm/node/node_backend.hpp"
#include "comm/node/node_rendezvous.hpp"

namespace dtrain {

std::string node_communicator_name() {
    return random_id();
}

Communicator node_communicator(const NodeRanks& ranks) {
    comm::check_node_ranks(ranks);
    std::vector<int> numbers(static_cast<std::size_t>(ranks.size));
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto deadline = comm::deadline_of(Environment::of_this_process());
    return Communicator(comm::node_backend(ranks, std::move(numbers), deadline));
}

}  // namespace dtrain
