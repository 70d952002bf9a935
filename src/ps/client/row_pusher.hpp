// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/client/push_messages.hpp"
#include "ps/client/recent_batches.hpp"
#include "ps/client/step_clock.hpp"
#include "ps/client/table_shapes.hpp"
#include "ps/table/distinct_ids.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// Writes gradients of rows to messages, each id once in a step, and keeps those that cannot be sent yet.
class RowPusher {
  public:
    /// All arguments must outlive this.
    RowPusher(const TableShapes& shapes, const StepClock& clock, const RecentBatches& recent, int servers,
              PushMessages& messages);

    /// See Client::push_rows().
    void push(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> gradients,
              bool last, std::span<const float> clicks);

    /// Writes all gradients that are kept, as the last ones of this step.
    void finish_step();

  private:
    struct Gradients {
        std::vector<std::int64_t> ids;
        std::vector<float> values;
        int lists = 0;             ///< number of lists in it, each without repeated ids
        bool are_written = false;  ///< some of this step have been written to messages
    };

    std::span<const float> with_statistics(std::span<const float> gradients, std::size_t width,
                                           std::span<const float> clicks);
    void write_kept(std::uint32_t table);
    void write(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> values,
               bool may_repeat);
    void write_to_one_server(std::uint32_t table, std::span<const std::int64_t> ids,
                             std::span<const float> values);
    void write_to_each_server(std::uint32_t table, std::span<const std::int64_t> ids,
                              std::span<const float> values);
    void write_sums(std::uint32_t table, const DistinctIds& distinct, std::span<const float> values);
    const DistinctIds& distinct_of(std::uint32_t table, std::span<const std::int64_t> ids);
    MessageWriter::Rows add_rows(std::size_t server, std::uint32_t table, std::size_t count);

    const TableShapes* shapes_;
    const StepClock* clock_;
    const RecentBatches* recent_;
    std::size_t servers_;
    PushMessages* messages_;
    std::vector<Gradients> kept_;      ///< by table
    bool ids_are_new_ = false;         ///< the rows being written are new in this step
    DistinctIds distinct_;             ///< of a batch that was not pulled
    std::vector<float> rows_to_push_;  ///< rows of a call, with shows and clicks
};

}  // namespace dtrain::ps
