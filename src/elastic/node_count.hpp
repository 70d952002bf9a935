// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dtrain::elastic {

/// The number of nodes that a job wants: a number, or a range.
struct NodeCount {
    int min = 1;
    int max = 1;

    /// Whether the job may run with fewer nodes than the maximum.
    bool is_range() const { return max > min; }
    /// "2" or "2:4".
    std::string to_string() const;
    friend bool operator==(const NodeCount&, const NodeCount&) = default;
};

/// Parses "N" or "MIN:MAX".
/// @param source where it was given, for the message: "--np", "PADDLE_ELASTIC_NP"
/// @throws UsageError if it is neither, below 1 or above 1,000,000, or MIN is above MAX.
NodeCount parse_node_count(std::string_view source, std::string_view text);

/// `count` after --scale: "+N" and "N" (Paddle's notation) add N nodes, "-N" removes N. For a range this
/// changes the maximum, and lowers the minimum to the maximum if necessary.
/// @throws UsageError if `scale` is not a number other than 0, or fewer than one node would be left.
NodeCount scaled(NodeCount count, std::string_view scale);

}  // namespace dtrain::elastic
