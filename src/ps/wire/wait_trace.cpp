// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/wire/wait_trace.hpp"

#include <utility>

#include <fmt/format.h>

namespace dtrain::ps {

using trace::OperationKind;

WaitTrace::Wait::Wait(trace::OperationLog* log, const trace::BegunOperation& operation) : log_(log) {
    if (log_ == nullptr) return;
    ticket_ = log_->begin(operation);
    log_->waits(ticket_);
}

WaitTrace::Wait::Wait(Wait&& other) noexcept
    : log_(std::exchange(other.log_, nullptr)), ticket_(other.ticket_) {}

WaitTrace::Wait::~Wait() {
    if (log_ != nullptr) log_->end(ticket_);
}

WaitTrace::WaitTrace(int rank, int size) : log_(trace::OperationLog::of_this_process()) {
    if (log_ == nullptr) return;
    group_ = log_->group("servers and trainers", rank, size);
    request_ = log_->text("request");
}

WaitTrace::Wait WaitTrace::for_answer(MessageKind asked, int server_rank) {
    auto& name = answers_.at(static_cast<std::size_t>(asked));
    if (log_ != nullptr && name == 0) name = log_->text(fmt::format("answer to {}", to_string(asked)));
    return {log_,
            {.kind = OperationKind::receive,
             .group = group_,
             .name = name,
             .count = trace::unknown_count,
             .peer = server_rank}};
}

WaitTrace::Wait WaitTrace::for_request() {
    return {log_,
            {.kind = OperationKind::receive_any,
             .group = group_,
             .name = request_,
             .count = trace::unknown_count}};
}

}  // namespace dtrain::ps
