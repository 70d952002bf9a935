// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <sys/types.h>

namespace dtrain {

/// Limits how long what a process has sent over TCP may stay without an answer, until the connection is an
/// error to it (TCP_USER_TIMEOUT). Keepalive does not notice a cut cable while something is on the way; the
/// kernel gives up after a quarter of an hour then. For the connections that it has now, over Linux's
/// pidfd_getfd().
/// @returns number of connections; 0 as well if the kernel cannot do that (before 5.6), or forbids it
int limit_unanswered(pid_t process, std::chrono::milliseconds limit);

}  // namespace dtrain
