// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/detail/comm_call.hpp>

/// The call that a public Communicator hands to its backend, under this room's own names.
namespace dtrain::comm {

using detail::Call;
using detail::Operation;
using detail::UseShard;

/// Call::peer of receive_any.
inline constexpr int any_rank = -1;

/// True for what two ranks do alone.
constexpr bool is_message(Operation operation) {
    return operation == Operation::send || operation == Operation::receive ||
           operation == Operation::receive_any;
}

}  // namespace dtrain::comm
