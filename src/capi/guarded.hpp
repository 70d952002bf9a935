// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include <dtrain/c_api.h>
#include <dtrain/error.hpp>

#include "capi/last_error.hpp"

namespace dtrain::capi {

/// Calls a function of the library; its exception becomes a status.
template <class Function>
int without_exceptions(const Function& function) noexcept {
    try {
        function();
        return DTRAIN_OK;
    } catch (...) {
        return note_current_exception();
    }
}

/// Held while a thread is in a function that uses communicators or handles.
class OnlyCaller {
  public:
    /// @throws UsageError if another thread holds it
    OnlyCaller() {
        if (is_inside.test_and_set(std::memory_order_acquire))
            throw UsageError(
                "another thread of this process is in a function of dtrain: one thread at a time uses "
                "communicators; a lock around the calls, or one thread that makes them all, does it");
    }
    OnlyCaller(const OnlyCaller&) = delete;
    OnlyCaller& operator=(const OnlyCaller&) = delete;
    ~OnlyCaller() { is_inside.clear(std::memory_order_release); }

  private:
    static inline std::atomic_flag is_inside;
};

/// without_exceptions() for one thread at a time.
template <class Function>
int guarded(const Function& function) noexcept {
    return without_exceptions([&] {
        const OnlyCaller only;
        function();
    });
}

}  // namespace dtrain::capi
