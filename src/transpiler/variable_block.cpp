// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <xxhash.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/variable_block.hpp>

#include "base/divided_up.hpp"

namespace dtrain {
namespace {

std::int64_t elements_of_row(const Shape& shape) {
    return element_count(Shape(shape.begin() + 1, shape.end()));
}

}  // namespace

std::string VariableBlock::name_of(const std::string& other) const {
    return count == 1 ? other : fmt::format("{}.block{}", other, number);
}

std::int64_t VariableBlock::first_element() const {
    return first_row * elements_of_row(shape);
}

std::vector<VariableBlock> slice(const std::string& variable, const Shape& shape, int servers,
                                 std::int64_t least_elements) {
    if (servers < 1 || least_elements < 1)
        throw UsageError(
            fmt::format("{} cannot be cut into blocks of {} elements for {} servers: both are 1 or more",
                        variable, least_elements, servers));
    const auto elements = element_count(shape);
    const auto wanted = std::clamp<std::int64_t>(elements / least_elements, 1, servers);
    const auto rows = divided_up(divided_up(elements, wanted), elements_of_row(shape));
    const auto count = divided_up(shape.front(), rows);
    std::vector<VariableBlock> blocks;
    for (std::int64_t number = 0; number < count; ++number) {
        auto& block = blocks.emplace_back(VariableBlock{.variable = variable,
                                                        .number = static_cast<int>(number),
                                                        .count = static_cast<int>(count),
                                                        .first_row = number * rows,
                                                        .shape = shape});
        block.shape.front() = std::min(rows, shape.front() - block.first_row);
    }
    return blocks;
}

std::vector<std::string> round_robin(const std::vector<VariableBlock>& blocks,
                                     const std::vector<std::string>& endpoints) {
    std::vector<std::string> servers;
    for (std::size_t number = 0; number < blocks.size(); ++number)
        servers.push_back(endpoints[number % endpoints.size()]);
    return servers;
}

std::vector<std::string> hash_name(const std::vector<VariableBlock>& blocks,
                                   const std::vector<std::string>& endpoints) {
    std::vector<std::string> servers;
    for (const auto& block : blocks) {
        const auto name = block.name();
        servers.push_back(endpoints[XXH3_64bits(name.data(), name.size()) % endpoints.size()]);
    }
    return servers;
}

}  // namespace dtrain
