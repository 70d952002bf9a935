// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dtrain::data {

/// Prepares the batches of an epoch in its own thread, ahead of their use. Batches are stored in buffers used
/// cyclically: batch b is in buffer b % buffers.
class BatchesAhead {
  public:
    struct Buffers {
        std::int64_t count = 3;    ///< at least 2
        std::int64_t at_once = 1;  ///< batches that are prepared together; less than count
    };
    /// Prepares batches first .. first + count - 1 in their buffers. Called by the thread.
    using Prepare = std::function<void(std::int64_t first, std::int64_t count)>;

    BatchesAhead(Buffers buffers, Prepare prepare);
    ~BatchesAhead();
    BatchesAhead(const BatchesAhead&) = delete;
    BatchesAhead& operator=(const BatchesAhead&) = delete;

    /// Continues with batch `first` of an epoch with `end` batches; discards what was prepared before.
    /// @param begin called while nothing is being prepared
    void start(std::int64_t first, std::int64_t end, const std::function<void()>& begin);

    /// The buffer of the next batch, valid until the next call of next() or start().
    /// @throws what preparing threw; Error if the epoch has no more batches
    std::int64_t next();

    /// Waits for the batch that next() will return, and returns its buffer; -1 at the end of the epoch. Valid
    /// until the second next() from now, or start(). @throws what preparing threw
    std::int64_t await_next();

  private:
    std::int64_t coming() const;
    void await(std::unique_lock<std::mutex>& lock);
    void work();

    Buffers buffers_;
    Prepare prepare_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ends_ = false;
    bool works_ = false;         ///< the thread is preparing, without holding the mutex
    std::int64_t end_ = 0;       ///< number of batches in the epoch
    std::int64_t prepared_ = 0;  ///< batches below it are ready or taken
    std::int64_t taken_ = 0;     ///< the batch that next() returns
    bool in_use_ = false;        ///< the batch before taken_ is still in use
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace dtrain::data
