// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/message/transport.hpp"
#include "comm/node/node_rendezvous.hpp"

namespace dtrain::comm {

/// A transport between ranks of a node without MPI. Collective.
/// @param ranks whose parts have Mailbox::bytes_of_a_rank()
std::unique_ptr<Transport> node_transport(std::unique_ptr<NodeRendezvous> ranks);

}  // namespace dtrain::comm
