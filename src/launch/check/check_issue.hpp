// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace dtrain::launch {

/// Why a node sent no info, and the remedy.
struct Issue {
    std::string text;
    std::string remedy;
    friend bool operator==(const Issue&, const Issue&) = default;
};

/// Diagnoses a failed remote shell or srun of a node. Pure.
/// @param way as CheckedNode::way
/// @param program the program to run there
/// @param status its exit status; none if it timed out
Issue issue_of(const std::string& way, const std::string& host, const std::string& program,
               std::optional<int> status, const std::string& complaint);

/// The issue of a node that its own launcher should inspect.
/// @param is_connected whether that launcher is still connected
/// @param port where its program should have connected
Issue issue_of_launcher(bool is_connected, int port);

}  // namespace dtrain::launch
