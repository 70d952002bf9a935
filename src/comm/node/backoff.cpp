// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/backoff.hpp"

#include <sched.h>

namespace dtrain::comm {
namespace {

// A moment may take milliseconds: MPI_Test() yields the processor, where others may want it.
constexpr int spins_between_looks = 64;
constexpr std::chrono::milliseconds spins_for{1};

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

bool Backoff::pass_moment() {
    if (passed_ < spins_) {
        if (++passed_ % spins_between_looks == 0) {
            const auto now = Clock::now();
            if (since_ == Clock::time_point()) since_ = now;
            if (now - since_ > spins_for) passed_ = spins_;
        }
        pause();
        return true;
    }
    const auto now = Clock::now();
    if (since_ == Clock::time_point()) since_ = now;
    if (yields_since_ == Clock::time_point()) yields_since_ = now;
    if (now - yields_since_ > yields_for_) return false;
    ::sched_yield();
    return true;
}

void Backoff::renew() {
    passed_ = 0;
    since_ = {};
    yields_since_ = {};
}

std::chrono::duration<double> Backoff::waited() const {
    return since_ == Clock::time_point() ? Clock::duration() : Clock::now() - since_;
}

Backoff::Clock::time_point time_after(std::chrono::duration<double> limit) {
    using Clock = Backoff::Clock;
    const auto now = Clock::now();
    const std::chrono::duration<double> left = Clock::time_point::max() - now;
    return limit < left / 2 ? now + std::chrono::duration_cast<Clock::duration>(limit)
                            : Clock::time_point::max();
}

}  // namespace dtrain::comm
