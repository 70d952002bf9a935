// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/wire/wait_trace.hpp"

#include <fmt/format.h>

namespace dtrain::ps {

using trace::OperationKind;
using trace::ScopedOperation;

WaitTrace::WaitTrace(int rank, int size) : log_(trace::OperationLog::of_this_process()) {
    if (log_ == nullptr) return;
    group_ = log_->group("servers and trainers", rank, size);
    request_ = log_->text("request");
}

ScopedOperation WaitTrace::for_answer(MessageKind asked, int server_rank) {
    auto& name = answers_.at(static_cast<std::size_t>(asked));
    if (log_ != nullptr && name == 0) name = log_->text(fmt::format("answer to {}", to_string(asked)));
    return wait({.kind = OperationKind::receive,
                 .group = group_,
                 .name = name,
                 .count = trace::unknown_count,
                 .peer = server_rank});
}

ScopedOperation WaitTrace::for_request() {
    return wait({.kind = OperationKind::receive_any,
                 .group = group_,
                 .name = request_,
                 .count = trace::unknown_count});
}

ScopedOperation WaitTrace::wait(const trace::BegunOperation& operation) {
    if (log_ == nullptr) return {};
    ScopedOperation wait(*log_, operation);
    wait.waits();
    return wait;
}

}  // namespace dtrain::ps
