// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "elastic/node_count.hpp"

namespace dtrain::elastic {

/// What --elastic_level says of a node that fails or leaves.
enum class Level {
    off = -1,  ///< the job ends
    hold = 0,  ///< the others wait for a replacement; where the program itself failed, the job ends
    again =
        1,  ///< as hold; where the program itself failed, it is started again, at most --max_restart times
};

struct Policy {
    NodeCount wanted;
    Level level = Level::again;
    /// How long the nodes must have stayed the same before the job starts with fewer than it wants.
    std::chrono::milliseconds settle{0};
    /// How long to wait for too few nodes while none comes or goes; nothing: for ever.
    std::optional<std::chrono::milliseconds> timeout;
};

/// The nodes of a job, by name.
struct Nodes {
    std::vector<std::string> alive;          ///< in the order of arrival
    std::vector<std::string> busy;           ///< of these, not yet done with an earlier start
    std::vector<std::string> previous;       ///< the last start's, by node rank
    std::chrono::milliseconds unchanged{0};  ///< how long none has come or gone
};

struct Decision {
    enum class What {
        wait,     ///< for nodes; or, while the job runs, let it run
        start,    ///< with `order`
        stop,     ///< what runs, to decide again
        give_up,  ///< the job has failed
    };

    What what = What::wait;
    std::vector<std::string> order;
    std::string reason;  ///< for people; begins in lower case
    friend bool operator==(const Decision&, const Decision&) = default;
};

/// What to do while nothing runs: start as soon as all nodes that are wanted are there, or at least the
/// fewest of a range and none has come or gone for `settle`.
Decision decide_waiting(const Policy& policy, const Nodes& nodes);

/// What to do while the job runs on nodes.previous. A node that is gone stops it; newcomers do once it could
/// start again with them, and a lower count of wanted nodes does at once.
Decision decide_running(const Policy& policy, const Nodes& nodes);

}  // namespace dtrain::elastic
