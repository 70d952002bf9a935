// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dtrain::comm {

/// A random number that belongs to this process and stays at its address: no other process of the machine has
/// it, also none with the same pid in another container. A forked child has one of its own.
const std::uint64_t& process_mark();

}  // namespace dtrain::comm
