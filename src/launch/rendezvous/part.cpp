// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous/part.hpp"

namespace dtrain::launch {

Part part_in(const Plan& plan, bool is_allocated) {
    if (is_allocated || plan.nodes.size() == 1 || !plan.own_node) return Part::alone;
    return *plan.own_node == 0 ? Part::coordinator : Part::agent;
}

}  // namespace dtrain::launch
