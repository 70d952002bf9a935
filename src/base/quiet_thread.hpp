// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace dtrain {

/// A thread with all signals blocked, so that they are delivered to the threads that handle them.
template <class Thread = std::thread, class Body>
Thread quiet_thread(Body&& body) {
    struct Blocked {
        sigset_t before;
        Blocked() {
            sigset_t all;
            ::sigfillset(&all);
            ::pthread_sigmask(SIG_BLOCK, &all, &before);
        }
        ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    };
    const Blocked while_it_is_made;
    return Thread(std::forward<Body>(body));
}

}  // namespace dtrain
