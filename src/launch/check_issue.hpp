// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace dtrain::launch {

/// Why a node told nothing, and what to do about it.
struct Issue {
    std::string text;
    std::string remedy;
    friend bool operator==(const Issue&, const Issue&) = default;
};

/// What a failed remote shell or srun says about a node. Pure.
/// @param way as CheckedNode::way
/// @param program that was to run there
/// @param status its exit status, none: it was given up after a while
Issue issue_of(const std::string& way, const std::string& host, const std::string& program,
               std::optional<int> status, const std::string& complaint);

/// Of a node whose own launcher has it looked at.
/// @param is_there whether that launcher is still connected
/// @param port where it should have called
Issue issue_of_launcher(bool is_there, int port);

}  // namespace dtrain::launch
