// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ps/metrics/log_histogram.hpp"

namespace dtrain::ps {

/// What a server has done since it began.
struct RequestCounts {
    std::uint64_t pulls = 0;
    std::uint64_t pushes = 0;
    std::uint64_t keys_pulled = 0;
    std::uint64_t keys_pushed = 0;
    std::uint64_t refused = 0;
    std::uint64_t dense_rejected = 0;  ///< steps of trainers with rejected dense gradients
    LogHistogram answers;              ///< up to the last Server::take_load()
    LogHistogram updates;
};

}  // namespace dtrain::ps
