// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ps/client/row_limits.hpp"
#include "ps/client/server_channel.hpp"

namespace dtrain::ps {

/// Reports that a table has more rows than its limit for all servers together: once, on one trainer. Another
/// trainer that finds it out waits until the first has left.
class LimitReport {
  public:
    /// @param limits must outlive this, as must `channel`
    LimitReport(RowLimits& limits, ServerChannel& channel) : limits_(&limits), channel_(&channel) {}

    /// @throws DictSizeError, or ServerError if a server alone has more rows, if this trainer has the turn
    void check();

    /// Asks for the current sizes before a save, and at the end: other trainers may have added rows.
    void renew_sizes();

  private:
    void take_turn(ReportLock turn);
    void throw_if_passed();
    std::uint64_t ask_sizes();  ///< @returns total number of rows evicted so far

    RowLimits* limits_;
    ServerChannel* channel_;
    bool is_checking_ = false;
};

}  // namespace dtrain::ps
