// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/quiet_thread.hpp"

namespace dtrain {

/// The result of a function that runs in its own thread beside the program. No signals are delivered to that
/// thread, and the function must not call MPI. (A thread of std::async receives signals, and the thread
/// sanitizer does not see what it does within std::call_once.)
template <class Value>
class Background {
  public:
    /// Empty: not valid.
    Background() = default;

    /// @throws std::system_error if no further thread can be created
    template <class Function>
    static Background in_thread(Function function) {
        Background made(std::make_shared<Work>());
        made.thread_ = quiet_thread<std::jthread>(
            [work = made.work_, function = std::move(function)]() mutable { work->do_now(function); });
        return made;
    }

    /// Runs the function in the calling thread, which waits for it; get() returns the result.
    template <class Function>
    static Background at_once(Function function) {
        Background made(std::make_shared<Work>());
        made.work_->do_now(function);
        return made;
    }

    /// Whether there is a result that get() has not returned yet.
    bool valid() const { return work_ != nullptr; }

    /// Whether get() returns without waiting. Only if valid.
    bool is_ready() const { return work_->has_ended; }

    /// Waits for the result. May be called once, and only if valid.
    /// @throws what the function threw
    Value get() {
        if (thread_.joinable()) thread_.join();
        const auto work = std::move(work_);
        if (work->failure) std::rethrow_exception(work->failure);
        if constexpr (!std::is_void_v<Value>) return std::move(*work->value);
    }

  private:
    struct Work {
        std::conditional_t<std::is_void_v<Value>, std::monostate, std::optional<Value>> value;
        std::exception_ptr failure;
        std::atomic<bool> has_ended = false;

        template <class Function>
        void do_now(Function& function) {
            try {
                if constexpr (std::is_void_v<Value>)
                    function();
                else
                    value = function();
            } catch (...) {
                failure = std::current_exception();
            }
            has_ended = true;
        }
    };

    explicit Background(std::shared_ptr<Work> work) : work_(std::move(work)) {}

    std::shared_ptr<Work> work_;
    std::jthread thread_;  ///< joined when this object is destroyed or assigned
};

}  // namespace dtrain
