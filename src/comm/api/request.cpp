// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <utility>

#include <dtrain/request.hpp>

#include "comm/api/backend.hpp"
#include "comm/node/backoff.hpp"

namespace dtrain {

Request::Request(Request&& other) noexcept
    : backend_(std::exchange(other.backend_, nullptr)), handle_(std::exchange(other.handle_, 0)) {}

Request& Request::operator=(Request&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(handle_, other.handle_);
    Request held(std::move(other));
    return *this;
}

Request::~Request() {
    if (backend_ == nullptr || !backend_->may_wait() || std::uncaught_exceptions() > 0) return;
    try {
        wait();
    } catch (const Error&) {
        // Code that needs the result would have waited for it.
    }
}

bool Request::test() {
    if (backend_ != nullptr && backend_->test(handle_)) backend_ = nullptr;
    return backend_ == nullptr;
}

bool Request::wait_for(std::chrono::duration<double> limit) {
    if (limit.count() <= 0) return test();
    auto* const backend = std::exchange(backend_, nullptr);
    if (backend != nullptr && !backend->wait_until(handle_, comm::time_after(limit))) backend_ = backend;
    return backend_ == nullptr;
}

void Request::wait() {
    if (backend_ != nullptr) std::exchange(backend_, nullptr)->wait(handle_);
}

}  // namespace dtrain
