// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "elastic/node_count.hpp"

namespace dtrain::elastic {

/// What --elastic_level says about a node that fails or leaves.
enum class Level {
    off = -1,   ///< the job ends
    hold = 0,   ///< the others wait for a replacement; if the program itself failed, the job ends
    again = 1,  ///< as hold; if the program itself failed, it is restarted, at most --max_restart times
};

struct Policy {
    NodeCount wanted;
    Level level = Level::again;
    /// How long the set of nodes must be unchanged before the job starts with fewer nodes than wanted.
    std::chrono::milliseconds settle{0};
    /// How long to wait with too few nodes while none joins or leaves; nothing: forever.
    std::optional<std::chrono::milliseconds> timeout;
};

/// The nodes of a job, by name.
struct Nodes {
    std::vector<std::string> alive;          ///< in the order of arrival
    std::vector<std::string> busy;           ///< those still working on an earlier start
    std::vector<std::string> previous;       ///< nodes of the last start, by node rank
    std::chrono::milliseconds unchanged{0};  ///< time since a node joined or left
};

struct Decision {
    enum class What {
        wait,     ///< for nodes; or, while the job runs, let it continue
        start,    ///< with the nodes of `order`
        stop,     ///< the running start, then decide again
        give_up,  ///< the job has failed
    };

    What what = What::wait;
    std::vector<std::string> order;
    std::string reason;  ///< for people; begins with a lower-case letter
    friend bool operator==(const Decision&, const Decision&) = default;
};

/// Decides what to do while nothing runs: start as soon as all wanted nodes are there, or at least the
/// minimum of a range and none has joined or left for `settle`.
Decision decide_waiting(const Policy& policy, const Nodes& nodes);

/// Decides what to do while the job runs on nodes.previous. A lost node stops it at once, as does a lower
/// number of wanted nodes; new nodes stop it once the job could be started with them.
Decision decide_running(const Policy& policy, const Nodes& nodes);

}  // namespace dtrain::elastic
