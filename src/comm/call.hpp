// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/detail/comm_call.hpp>

/// The call that a public Communicator hands to its backend, under this room's own names.
namespace dtrain::comm {

using detail::Call;
using detail::Operation;
using detail::UseShare;

}  // namespace dtrain::comm
