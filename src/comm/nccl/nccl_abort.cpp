// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_abort.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "base/signal_free_thread.hpp"

namespace dtrain::comm {

bool ends_within(std::chrono::milliseconds limit, std::function<void()> call,
                 const std::function<void()>& meanwhile) {
    const auto ended = std::make_shared<std::atomic<bool>>(false);
    auto thread = signal_free_thread([ended, call = std::move(call)] {
        call();
        ended->store(true);
    });
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!ended->load() && std::chrono::steady_clock::now() < end) {
        meanwhile();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!ended->load()) {
        thread.detach();
        return false;
    }
    thread.join();
    return true;
}

}  // namespace dtrain::comm
