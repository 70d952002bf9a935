// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/event.hpp"

namespace dtrain::worker {

/// Writes the lines of an event. Into a pipe each goes when one read of 4096 bytes takes all that is unread
/// and the line: mpirun 4.1 reads as much at once (ORTE_IOF_BASE_MSG_MAX), and other ranks' output may come
/// between two reads. A reader that stays away is waited for 100 ms, and then as long as the pipe is full.
void write_event(int fd, const cluster::Event& event);

}  // namespace dtrain::worker
