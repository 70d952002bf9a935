// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include <mpi.h>

namespace dtrain::comm {

/// What an operation waits for before it can continue.
struct Wait {
    enum class For {
        turn,      ///< earlier operations are complete
        come,      ///< `turn`, and all ranks of the node have announced this operation
        steps,     ///< all ranks of the node have made this many steps
        requests,  ///< MPI requests are complete
    };
    For what = For::turn;
    std::uint64_t value = 0;
    std::span<MPI_Request> requests = {};
};

/// An operation that continues when its wait is over: a coroutine that awaits Waits and sub-Tasks. It starts
/// with the first resume().
class Task {
  public:
    struct promise_type {
        promise_type* top = this;           // the operation that this is a part of
        std::coroutine_handle<> innermost;  // of `top`: the coroutine to resume
        Wait waits;                         // of `top`
        std::coroutine_handle<> awaited_by;
        std::exception_ptr failure;

        Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { failure = std::current_exception(); }

        struct AtEnd {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
                const auto next = ended.promise().awaited_by;
                return next ? next : std::noop_coroutine();
            }
            void await_resume() noexcept {}
        };
        AtEnd final_suspend() noexcept { return {}; }

        // Frames come from a pool: a training step does not allocate memory.
        static void* operator new(std::size_t bytes);
        static void operator delete(void* frame, std::size_t bytes);
    };
    using Handle = std::coroutine_handle<promise_type>;

    Task() = default;
    explicit Task(Handle handle) : handle_(handle) { handle_.promise().innermost = handle_; }
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_) handle_.destroy();
    }

    bool done() const { return handle_.done(); }
    const Wait& waits() const { return handle_.promise().waits; }
    void resume() { handle_.promise().innermost.resume(); }
    std::exception_ptr failure() const { return handle_.promise().failure; }
    /// Leaves the operation unfinished without freeing its frame: MPI may still write to its memory.
    void abandon() { handle_ = {}; }

    struct Part {
        Handle part;
        bool await_ready() const { return false; }
        std::coroutine_handle<> await_suspend(Handle whole) const {
            part.promise().top = whole.promise().top;
            part.promise().awaited_by = whole;
            return part;
        }
        void await_resume() const {
            if (part.promise().failure) std::rethrow_exception(part.promise().failure);
        }
    };
    Part operator co_await() const { return {handle_}; }

  private:
    Handle handle_;
};

/// co_await Waiting{wait}: suspends until the wait is over.
struct Waiting {
    Wait wait;
    bool await_ready() const { return false; }
    void await_suspend(Task::Handle waiting) const {
        auto& top = *waiting.promise().top;
        top.waits = wait;
        top.innermost = waiting;
    }
    void await_resume() const {}
};

}  // namespace dtrain::comm
