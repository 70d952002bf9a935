// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/srun/srun_messages.hpp"

#include <string_view>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::launch {

std::optional<cluster::RankList> ranks_named_by_srun(const std::string& srun_text) {
    for (const auto& line : split(srun_text, '\n')) {
        const auto parts = split(line, ':');  // srun, error, node2, tasks 2-3, Killed
        if (parts.size() < 5 || parts[0] != "srun" || parts[1] != " error") continue;
        const auto words = split(trimmed(parts[3]), ' ');
        if (words.size() != 2 || (words[0] != "task" && words[0] != "tasks")) continue;
        try {
            return cluster::RankList::parse(words[1]);
        } catch (const UsageError&) {
            continue;
        }
    }
    return std::nullopt;
}

std::optional<std::string> node_failed_for_srun(const std::string& srun_text) {
    constexpr std::string_view words = "srun: error: Node failure on ";
    for (const auto& line : split(srun_text, '\n'))
        if (line.starts_with(words)) return std::string(trimmed(std::string_view(line).substr(words.size())));
    return std::nullopt;
}

std::optional<std::string> cancelled_by_slurm(const std::string& srun_text) {
    constexpr std::string_view begin = " CANCELLED AT ", due = " DUE TO ", end = " ***";
    for (const auto& line : split(srun_text, '\n')) {
        const std::string_view words = line;
        const auto found = words.find(begin);
        const auto last = words.rfind(end);
        if (words.find("*** STEP ") == std::string_view::npos || found == std::string_view::npos ||
            last == std::string_view::npos || last < found + begin.size())
            continue;
        const auto rest = words.substr(found + begin.size(), last - found - begin.size());
        const auto reason = rest.find(due);
        if (reason == std::string_view::npos)
            return fmt::format("Slurm cancelled the job at {}: scancel", rest);
        return fmt::format("Slurm cancelled the job at {}: {}", rest.substr(0, reason),
                           lower_case(rest.substr(reason + due.size())));
    }
    return std::nullopt;
}

}  // namespace dtrain::launch
