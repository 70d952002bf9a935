// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace dtrain {

/// A thread that no signal is delivered to: they are for the threads that expect them.
template <class Thread = std::thread, class Body>
Thread quiet_thread(Body&& body) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    Thread thread(std::forward<Body>(body));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace dtrain
