// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ps/server/dense_part.hpp"
#include "ps/server/parameter_shapes.hpp"
#include "ps/server/push.hpp"
#include "ps/server/request.hpp"
#include "ps/server/request_counts.hpp"
#include "ps/server/row_batch.hpp"
#include "ps/table/sparse_table.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

struct ServerTable {
    SparseTable table;
    /// Variable of the server's program computed by a schedule; "": the optimizer's own rate.
    std::string learning_rate;
};

/// The dense parameters and the tables of a server: what pushes update and pulls read.
class ServerParameters {
  public:
    /// @param reject_not_finite see ServerOptions
    /// @param counts keys and rejected steps are added to it; must outlive this
    ServerParameters(DensePart dense, std::vector<ServerTable> tables, int table_threads,
                     bool reject_not_finite, RequestCounts& counts);

    const DensePart& dense() const { return dense_; }
    std::vector<SparseTable>& tables() { return tables_; }
    const std::vector<SparseTable>& tables() const { return tables_; }
    int table_threads() const { return team_.threads(); }
    const ParameterShapes& shapes() const { return shapes_; }

    /// Sets the dense gradient of a source for the next update, and adds its gradients of rows. What is not
    /// pushed has a gradient of zero.
    /// @param pushes of one step; must live until update()
    void set_gradients(int source, std::span<const Push> pushes);

    /// Updates everything by the gradients that were set. @throws Error, with a part of it updated
    /// @param steps see DensePart::update()
    /// @param step number of this update
    void update(std::uint32_t steps, std::int64_t step);

    /// Waits for updates on a GPU, and copies the dense values to the host. @throws Error of an update
    void bring_dense() { dense_.bring(); }

    /// Adds the values to an answer. @throws DictSizeError; then nothing is in the tables that was not before
    /// the rows of this part
    void write_values(const AskedValues& pull, MessageWriter& answer);

    /// Adds the row counts of the tables that have a limit to an answer.
    void write_sizes(MessageWriter& answer) const;

    /// @returns number of evicted rows
    std::size_t begin_day(const AskedDay& asked);

    /// Does work for which an idle server has time. False if there is none.
    bool work_ahead();

  private:
    void add_values(const DenseRange& range, MessageWriter& answer);
    void add_values(const AskedRows& asked, MessageWriter& answer);

    DensePart dense_;
    TableTeam team_;
    std::vector<SparseTable> tables_;
    std::vector<std::string> learning_rates_;  ///< see ServerTable
    ParameterShapes shapes_;
    bool reject_not_finite_;
    RequestCounts* counts_;
    std::vector<RowBatch> batches_;  ///< of the next update, by table
};

}  // namespace dtrain::ps
