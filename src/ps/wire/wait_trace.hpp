// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "ps/wire/message.hpp"
#include "trace/operation_log.hpp"
#include "trace/scoped_operation.hpp"

namespace dtrain::ps {

/// Records which messages of servers and trainers a rank waits for in the operation log of this process;
/// without one, does nothing.
class WaitTrace {
  public:
    /// @param size ranks of the job
    WaitTrace(int rank, int size);

    /// A wait, which ends with the object: for a server's answer to a request of this kind.
    [[nodiscard]] trace::ScopedOperation for_answer(MessageKind asked, int server_rank);
    /// For a request of any trainer.
    [[nodiscard]] trace::ScopedOperation for_request();

  private:
    trace::ScopedOperation wait(const trace::BegunOperation& operation);

    trace::OperationLog* log_;
    std::uint16_t group_ = 0;
    std::uint16_t request_ = 0;
    std::array<std::uint16_t, 64> answers_{};  ///< their texts in the log, by the kind of request
};

}  // namespace dtrain::ps
