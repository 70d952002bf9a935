// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dtrain::elastic {

/// How many nodes a job wants.
struct NodeCount {
    int min = 1;
    int max = 1;

    /// The job may run with fewer nodes than it wants.
    bool is_range() const { return max > min; }
    /// "2" or "2:4".
    std::string to_string() const;
    friend bool operator==(const NodeCount&, const NodeCount&) = default;
};

/// Reads "N" or "MIN:MAX".
/// @param source how it was given, for the message: "--np", "PADDLE_ELASTIC_NP"
/// @throws UsageError when it is neither, below 1 or above 1,000,000, or MIN is above MAX.
NodeCount parse_node_count(std::string_view source, std::string_view text);

/// `count` after --scale: "+N" and "N" want so many nodes more (Paddle's meaning of N), "-N" fewer. Of a
/// range the upper end moves, and the lower end with it where it would be above.
/// @throws UsageError when `scale` is no number but 0, or fewer than one node would be left.
NodeCount scaled(NodeCount count, std::string_view scale);

}  // namespace dtrain::elastic
