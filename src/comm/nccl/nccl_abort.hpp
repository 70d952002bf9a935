// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

namespace dtrain::comm {

/// Runs `call`, which may never return, in a thread, and calls `meanwhile` until it returns. False if it has
/// not returned within the limit: its thread is then abandoned, and the process should end.
bool ends_within(std::chrono::milliseconds limit, std::function<void()> call,
                 const std::function<void()>& meanwhile);

}  // namespace dtrain::comm
