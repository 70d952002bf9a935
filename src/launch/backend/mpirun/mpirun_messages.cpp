// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/mpirun/mpirun_messages.hpp"

#include <array>
#include <string_view>

#include "base/text.hpp"

namespace dtrain::launch {

std::optional<int> rank_named_by_mpirun(const std::string& mpirun_text) {
    constexpr std::string_view marker = "process rank ";
    const auto at = mpirun_text.find(marker);
    if (at == std::string::npos) return std::nullopt;
    const auto begin = at + marker.size();
    return parse_int(mpirun_text.substr(begin, mpirun_text.find(' ', begin) - begin));
}

std::optional<int> rank_that_left_mpi(const std::string& mpirun_text) {
    const auto is_there = [&](std::string_view words) {
        return mpirun_text.find(words) != std::string::npos;
    };
    if (!is_there("exiting improperly") && !is_there("exiting\nimproperly")) return std::nullopt;
    return rank_named_by_mpirun(mpirun_text);
}

std::optional<std::string> node_lost_by_mpirun(const std::string& mpirun_text) {
    //   Remote daemon: [[19320,0],1] on node 10.77.0.2
    constexpr std::string_view daemon = "Remote daemon:", node = " on node ";
    const auto at = mpirun_text.find(daemon);
    if (at == std::string::npos || mpirun_text.find("lost communication") == std::string::npos)
        return std::nullopt;
    const auto line = mpirun_text.substr(at, mpirun_text.find('\n', at) - at);
    const auto name = line.find(node);
    if (name == std::string::npos) return std::nullopt;
    return std::string(trimmed(line.substr(name + node.size())));
}

std::optional<std::string> start_refused_by_shell(const std::string& mpirun_text) {
    constexpr std::array<std::string_view, 3> beginnings{"ssh: ", "Host key verification failed", "rsh: "};
    for (const auto& line : split(mpirun_text, '\n')) {
        for (const auto beginning : beginnings)
            if (line.starts_with(beginning)) return line;
        if (line.find("Permission denied (") != std::string::npos) return line;
    }
    return std::nullopt;
}

}  // namespace dtrain::launch
