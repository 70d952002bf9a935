// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/serve.hpp"

#include <algorithm>
#include <optional>
#include <sched.h>
#include <thread>

#include "ps/wire/wait_trace.hpp"

namespace dtrain::ps {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto spins_in_crowd = 20us;
constexpr auto spins_alone = 200us;
constexpr auto yields_alone = 1000us;  // sleeping earlier would delay messages about to be sent
constexpr auto yields_for = 200us;
constexpr auto max_sleep = 2ms;
constexpr auto between_calls = 100ms;

}  // namespace

IdleSleep::Duration IdleSleep::after(Duration idle) {
    if (idle < yields_for) return Duration::zero();
    return std::min<Duration>(idle / 8, max_sleep);
}

void serve(Server& server, comm::Transport& transport, const std::function<void()>& between) {
    const auto spins_for = transport.is_crowded() ? spins_in_crowd : spins_alone;
    WaitTrace waits(transport.rank(), transport.size());
    std::optional<trace::ScopedOperation> wait;
    auto last_message = Clock::now();
    auto last_call = last_message;
    while (!server.is_done()) {
        auto message = transport.receive();
        if (message) server.take(std::move(*message));
        const auto now = Clock::now();
        if (between && now - last_call > between_calls) {
            between();
            last_call = now;
        }
        const bool answers = server.go_on_answering();
        const bool saves = server.go_on_with_save();
        if (message || saves || answers) wait.reset();
        if (message) {
            last_message = now;
            continue;
        }
        if (saves || answers) continue;
        const auto idle = now - last_message;
        if (idle < spins_for) continue;
        if (!wait) wait.emplace(waits.for_request());
        const auto sleep = IdleSleep::after(idle);
        if (sleep > IdleSleep::Duration::zero() && (idle >= yields_alone || transport.is_crowded())) {
            if (!server.work_ahead()) std::this_thread::sleep_for(sleep);
        } else {
            ::sched_yield();
        }
    }
    wait.reset();
    while (!transport.deliver()) ::sched_yield();
}

}  // namespace dtrain::ps
