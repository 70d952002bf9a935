// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/parameter_parts.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace dtrain::ps {

ParameterParts::ParameterParts(const std::vector<DistributeTranspiler::Placement>& placements,
                               std::vector<std::string> tables)
    : tables_(std::move(tables)) {
    std::map<std::size_t, std::size_t> lengths;
    for (const auto& [block, server] : placements) {
        const auto count = static_cast<std::size_t>(element_count(block.shape));
        parts_[block.variable].push_back({static_cast<std::size_t>(block.first_element()), count,
                                          static_cast<int>(server), lengths[server]});
        lengths[server] += count;
    }
}

const ParameterParts::Parts& ParameterParts::of(const std::string& variable) const {
    const auto found = parts_.find(variable);
    if (found == parts_.end())
        throw ProgramError(fmt::format("the servers have no parameter '{}'", variable), "recv", variable);
    return found->second;
}

std::uint32_t ParameterParts::table_number(const std::string& name) const {
    const auto found = std::ranges::find(tables_, name);
    if (found == tables_.end())
        throw ProgramError(fmt::format("the servers have no table '{}'", name), "", name);
    return static_cast<std::uint32_t>(found - tables_.begin());
}

}  // namespace dtrain::ps
