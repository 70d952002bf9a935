// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtrain::ps {

/// Rows of a table that a batch looks up. Ids may repeat.
struct WantedRows {
    std::uint32_t table = 0;
    std::span<const std::int64_t> ids = {};
    bool reads_only = false;  ///< does not change the table
};

/// A pending request for rows.
struct RowRequest {
    std::uint32_t table = 0;
    std::int64_t step = 0;          ///< the step to which the rows belong
    std::vector<std::int64_t> ids;  ///< ids of the batch; only for a prefetch
    /// For each row of the batch the index of its distinct id; empty: no id repeats.
    std::vector<std::uint32_t> indices;
    std::vector<std::uint32_t> servers;  ///< server of each distinct id; empty with a single server
    /// A section of the answer to a request.
    struct Part {
        std::uint64_t request = 0;
        std::size_t section = 0;
    };
    /// By server: parts of TableShapes::message_rows() rows each, in order; the last one may have fewer.
    std::vector<std::vector<Part>> parts;
    std::vector<std::size_t> counts;  ///< number of rows, by server
};

}  // namespace dtrain::ps
