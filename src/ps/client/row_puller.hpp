// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/client/pull_messages.hpp"
#include "ps/client/recent_batches.hpp"
#include "ps/client/row_request.hpp"
#include "ps/client/server_channel.hpp"
#include "ps/client/table_shapes.hpp"

namespace dtrain::ps {

/// Requests rows of tables, for this step or the next one, and hands them out in the order of a batch.
class RowPuller {
  public:
    /// All arguments must outlive this.
    RowPuller(const TableShapes& shapes, ServerChannel& channel, RecentBatches& recent)
        : shapes_(&shapes), channel_(&channel), recent_(&recent) {}

    /// Requests the rows that a step begins with, except those that are already requested for it. Each
    /// returned request must be taken or dropped exactly once.
    std::vector<RowRequest> ask(std::int64_t step, std::span<const WantedRows> wanted);

    /// Requests rows for the next step, while `step` goes on.
    void prefetch(std::int64_t step, std::span<const WantedRows> wanted);

    bool have_come(const RowRequest& asked) const;
    /// Waits for the rows. @param out as many rows as the batch has ids
    void take(const RowRequest& asked, std::span<float> out);
    void drop(const RowRequest& asked);

  private:
    RowRequest ask(const WantedRows& wanted, PullMessages& messages);
    std::optional<RowRequest> prefetched(std::int64_t step, const WantedRows& wanted);
    void drop_prefetches_before(std::int64_t step);

    const TableShapes* shapes_;
    ServerChannel* channel_;
    RecentBatches* recent_;
    std::vector<RowRequest> prefetched_;
};

}  // namespace dtrain::ps
