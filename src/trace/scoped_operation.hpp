// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "trace/operation_log.hpp"

namespace dtrain::trace {

/// An operation in a log that ends with this object. Without a log, nothing.
class ScopedOperation {
  public:
    ScopedOperation() = default;
    ScopedOperation(OperationLog& log, const BegunOperation& operation)
        : log_(&log), ticket_(log.begin(operation)) {}
    ScopedOperation(ScopedOperation&& other) noexcept
        : log_(std::exchange(other.log_, nullptr)), ticket_(other.ticket_) {}
    ScopedOperation& operator=(ScopedOperation&&) = delete;
    ~ScopedOperation() {
        if (log_ != nullptr) log_->end(ticket_);
    }

    /// The thread waits for it, and for nothing else, until it ends.
    void waits() {
        if (log_ != nullptr) log_->waits(ticket_);
    }
    /// The thread turns to something else.
    void goes_on() {
        if (log_ != nullptr) log_->goes_on(ticket_);
    }

  private:
    OperationLog* log_ = nullptr;
    OperationLog::Ticket ticket_ = 0;
};

}  // namespace dtrain::trace
