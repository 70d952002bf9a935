// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dtrain::io {

/// Has the batches of an epoch prepared in a thread of its own, ahead of the one that takes them. They lie in
/// places that are used in turns: batch b is in place b % places.
class BatchesAhead {
  public:
    struct Places {
        std::int64_t count = 3;    ///< 2 or more
        std::int64_t at_once = 1;  ///< batches that are prepared together, fewer than there are places
    };
    /// Brings batches first .. first + count - 1 into their places. Called by the thread.
    using Prepare = std::function<void(std::int64_t first, std::int64_t count)>;

    BatchesAhead(Places places, Prepare prepare);
    ~BatchesAhead();
    BatchesAhead(const BatchesAhead&) = delete;
    BatchesAhead& operator=(const BatchesAhead&) = delete;

    /// Goes on with batch `first` of an epoch of `end`; what was prepared before is forgotten.
    /// @param begin called while nothing is prepared
    void start(std::int64_t first, std::int64_t end, const std::function<void()>& begin);

    /// The place of the next batch, good until the next call of next() or start().
    /// @throws what preparing threw; Error when the epoch has no more batches
    std::int64_t next();

    /// The place of the batch that next() will return, when it is there; -1: the epoch has none. Good until
    /// the call of next() after the next one, or start(). @throws what preparing threw
    std::int64_t await_next();

  private:
    std::int64_t coming() const;
    void await(std::unique_lock<std::mutex>& lock);
    void work();

    Places places_;
    Prepare prepare_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ends_ = false;
    bool works_ = false;         ///< the thread is preparing, without the mutex
    std::int64_t end_ = 0;       ///< of the epoch
    std::int64_t prepared_ = 0;  ///< batches before it are ready or taken
    std::int64_t taken_ = 0;     ///< batch that next() gives
    bool in_use_ = false;        ///< the one before taken_ is still looked at
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace dtrain::io
