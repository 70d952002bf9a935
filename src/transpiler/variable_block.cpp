// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <xxhash.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/variable_block.hpp>

#include "base/ceil_div.hpp"

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
                                 std::int64_t min_elements) {
    if (servers < 1 || min_elements < 1)
        throw UsageError(
            fmt::format("{} cannot be cut into blocks of {} elements for {} servers: both are 1 or more",
                        variable, min_elements, servers));
    const auto elements = element_count(shape);
    const auto wanted = std::clamp<std::int64_t>(elements / min_elements, 1, servers);
    const auto rows = ceil_div(ceil_div(elements, wanted), elements_of_row(shape));
    const auto count = ceil_div(shape.front(), rows);
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
    std::vector<std::string> servers(blocks.size());
    std::vector<std::int64_t> loads(endpoints.size());
    const auto place = [&](std::size_t block, std::size_t server) {
        servers[block] = endpoints[server];
        loads[server] += element_count(blocks[block].shape);
    };
    std::vector<std::size_t> whole;
    std::size_t pieces = 0;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        if (blocks[block].count == 1)
            whole.push_back(block);
        else
            place(block, pieces++ % endpoints.size());
    }
    std::ranges::stable_sort(whole, std::ranges::greater{},
                             [&](std::size_t block) { return element_count(blocks[block].shape); });
    for (const auto block : whole)
        place(block, static_cast<std::size_t>(std::ranges::min_element(loads) - loads.begin()));
    return servers;
}

std::vector<std::string> round_robin_by_name(const std::vector<VariableBlock>& blocks,
                                             const std::vector<std::string>& endpoints) {
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t block) {
        return std::pair(blocks[block].variable, blocks[block].number);
    });
    std::vector<std::string> servers(blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) servers[order[i]] = endpoints[i % endpoints.size()];
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
