// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "protocol/event.hpp"

namespace dtrain::worker {

/// Writes the lines of an event. Into a pipe each goes when one read of 4096 bytes takes all that is unread
/// and the line: mpirun 4.1 reads as much at once (ORTE_IOF_BASE_MSG_MAX), and other ranks' output may come
/// between two reads.
/// @param patience with a reader that stays away; afterwards it is waited for as long as the pipe is full
void write_event(int fd, const cluster::Event& event,
                 std::chrono::milliseconds patience = std::chrono::milliseconds(100));

}  // namespace dtrain::worker
