// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/batches_ahead.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <dtrain/error.hpp>

#include "base/signal_free_thread.hpp"

namespace dtrain::data {

BatchesAhead::BatchesAhead(Buffers buffers, Prepare prepare)
    : buffers_(buffers), prepare_(std::move(prepare)) {
    thread_ = signal_free_thread([this] { work(); });
}

BatchesAhead::~BatchesAhead() {
    {
        const std::scoped_lock lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void BatchesAhead::start(std::int64_t first, std::int64_t end, const std::function<void()>& begin) {
    std::unique_lock lock(mutex_);
    prepared_ = end_;
    changed_.wait(lock, [this] { return !works_; });
    begin();
    end_ = end;
    prepared_ = taken_ = first;
    in_use_ = false;
    failure_ = nullptr;
    changed_.notify_all();
}

void BatchesAhead::await(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return prepared_ > taken_ || failure_; });
    if (prepared_ <= taken_) std::rethrow_exception(failure_);
}

std::int64_t BatchesAhead::next() {
    std::unique_lock lock(mutex_);
    in_use_ = false;
    changed_.notify_all();
    if (taken_ >= end_) throw Error("an epoch has no batch " + std::to_string(taken_));
    await(lock);
    in_use_ = true;
    return taken_++ % buffers_.count;
}

std::int64_t BatchesAhead::await_next() {
    std::unique_lock lock(mutex_);
    if (taken_ >= end_) return -1;
    await(lock);
    return taken_ % buffers_.count;
}

std::int64_t BatchesAhead::coming() const {
    return std::min(buffers_.at_once, end_ - prepared_);
}

void BatchesAhead::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto has_room = [this] {
            const auto oldest = taken_ - (in_use_ ? 1 : 0);
            return coming() > 0 && !failure_ && prepared_ + coming() - oldest <= buffers_.count;
        };
        changed_.wait(lock, [&] { return ends_ || has_room(); });
        if (ends_) return;
        const auto first = prepared_;
        const auto count = coming();
        works_ = true;
        lock.unlock();
        std::exception_ptr failure;
        try {
            prepare_(first, count);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        works_ = false;
        if (prepared_ == first) {  // else start() was called meanwhile
            failure_ = failure;
            if (!failure) prepared_ += count;
        }
        changed_.notify_all();
    }
}

}  // namespace dtrain::data
