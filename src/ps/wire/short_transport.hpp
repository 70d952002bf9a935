// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dtrain/server_mode.hpp>

#include "comm/message/transport.hpp"

namespace dtrain::ps {

/// A Transport that sends the floats of pushes and values in a shorter WireType; sender and receiver see
/// floats. All other messages, and with float32 all messages, are sent unchanged.
///
/// An incomplete message is passed on as received, for MessageReader to reject.
std::shared_ptr<comm::Transport> with_wire_type(std::shared_ptr<comm::Transport> transport, WireType numbers);

}  // namespace dtrain::ps
