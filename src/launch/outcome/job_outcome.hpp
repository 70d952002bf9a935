// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dtrain::launch {

/// What follows from the end of a start: whether it is repeated, and with which nodes.
struct JobOutcome {
    int status = 0;                         ///< of dtrain-launch; 0: success
    int stopped_by = 0;                     ///< signal that dtrain-launch got; 0: none
    bool commanded_to_stop = false;         ///< by WatchOptions::stop_fd
    std::vector<std::size_t> lost_nodes{};  ///< other nodes that have a rank which never reported its end
    std::vector<int> absent_nodes{};        ///< nodes that could neither follow nor be reached: not started
    std::string summary = {};               ///< the report's first line
};

}  // namespace dtrain::launch
