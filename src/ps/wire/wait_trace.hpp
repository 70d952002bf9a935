// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "ps/wire/message.hpp"
#include "trace/operation_log.hpp"

namespace dtrain::ps {

/// Records which messages of servers and trainers a rank waits for in the operation log of this process;
/// without one, does nothing.
class WaitTrace {
  public:
    /// A wait, which ends with this object.
    class Wait {
      public:
        Wait(trace::OperationLog* log, const trace::BegunOperation& operation);
        Wait(Wait&& other) noexcept;
        Wait& operator=(Wait&&) = delete;
        ~Wait();

      private:
        trace::OperationLog* log_;
        trace::OperationLog::Ticket ticket_ = 0;
    };

    /// @param size ranks of the job
    WaitTrace(int rank, int size);

    /// For a server's answer to a request of this kind.
    [[nodiscard]] Wait for_answer(MessageKind asked, int server_rank);
    /// For a request of any trainer.
    [[nodiscard]] Wait for_request();

  private:
    trace::OperationLog* log_;
    std::uint16_t group_ = 0;
    std::uint16_t request_ = 0;
    std::array<std::uint16_t, 64> answers_{};  ///< their texts in the log, by the kind of request
};

}  // namespace dtrain::ps
