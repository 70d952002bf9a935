// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

namespace dtrain::comm {

/// Calls something that may never return, in a thread, and `meanwhile` while it has not. False when it has
/// not returned within the limit: its thread is left alone then, and the process should end.
bool ends_within(std::chrono::milliseconds limit, std::function<void()> call,
                 const std::function<void()>& meanwhile);

}  // namespace dtrain::comm
