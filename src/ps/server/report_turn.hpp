// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace dtrain::ps {

/// The turn to report that a table has too many rows: one trainer has it at a time, and the others wait in
/// the order of their requests (see ReportLock).
class ReportTurn {
  public:
    struct Waiting {
        std::size_t trainer = 0;
        std::uint64_t request = 0;
    };

    /// @returns whether the trainer has the turn; if not, it waits
    bool take(const Waiting& asked);

    /// Gives the turn back, if the trainer has it. @returns who has it next, and waits for the answer
    std::optional<Waiting> give_back(std::size_t trainer);

    /// The trainer neither has the turn nor waits for it any more. @returns as give_back()
    std::optional<Waiting> leave(std::size_t trainer);

    /// Removes all that wait.
    std::deque<Waiting> take_waiting();

  private:
    std::optional<std::size_t> holder_;
    std::deque<Waiting> waiting_;
};

}  // namespace dtrain::ps
