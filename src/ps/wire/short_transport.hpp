// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dtrain/server_mode.hpp>

#include "comm/transport.hpp"

namespace dtrain::ps {

/// A Transport whose messages travel with shorter numbers: those of pushes and of values. Who writes and who
/// reads them sees floats. All other messages, and with float32 all, travel as they are.
///
/// What arrives and is no whole message is handed on as it came, for MessageReader to refuse.
std::shared_ptr<comm::Transport> with_wire_type(std::shared_ptr<comm::Transport> transport, WireType numbers);

}  // namespace dtrain::ps
