// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/server_mode.hpp>

#include "ps/client/table_sizes.hpp"

namespace dtrain::ps {

/// What a trainer needs to know about its servers.
struct ClientOptions {
    ServerMode mode = ServerMode::sync;
    std::vector<int> servers;          ///< their ranks, by server number
    std::vector<std::string> layouts;  ///< the layout expected of each server
    std::vector<std::size_t> dense;    ///< number of dense parameter floats on each server
    std::vector<std::size_t> widths;   ///< width of the tables' rows, by table number
    /// Whether a table keeps statistics of rows, by table number; false for missing entries.
    std::vector<bool> with_statistics = {};
    /// Limits of tables, by table number; none for missing entries.
    std::vector<std::optional<TableLimit>> limits = {};
    /// async: the dense parameters at the start of a step lack fewer than this many of this trainer's own
    /// steps. Up to this many steps are merged on the trainer, with summed gradients, while the servers have
    /// not yet applied an earlier push.
    int most_merged = 1;
    std::chrono::seconds deadline{0};  ///< for an answer; 0: no deadline
    /// Maximum number of rows of a table per message; larger batches are split. 0: chosen for speed.
    std::size_t message_rows = 0;
};

}  // namespace dtrain::ps
