// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/push.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

namespace dtrain::ps {
namespace {

bool is_count(float value) {
    return value >= 0 && value <= std::numeric_limits<float>::max();
}

DenseGradients dense_gradients(const Section& section, const ParameterShapes& shapes) {
    const auto values = section.floats(section.count);
    if (section.first > shapes.dense || values.size() > shapes.dense - section.first)
        throw MessageError(fmt::format("gradients of elements {} to {} of {}", section.first,
                                       section.first + values.size(), shapes.dense));
    return {section.first, values};
}

RowGradients row_gradients(const Section& section, const ParameterShapes::Table& table) {
    const auto ids = section.ids();
    const auto rows = section.floats_behind_ids(ids.size() * table.pushed_width());
    if (table.has_statistics)
        for (std::size_t at = table.width; at < rows.size(); at += table.pushed_width())
            if (!is_count(rows[at]) || !is_count(rows[at + 1]))
                throw MessageError(fmt::format("a row with {} shows and {} clicks, which are no counts",
                                               rows[at], rows[at + 1]));
    return {section.table, ids, rows, section.has_each_id_once};
}

}  // namespace

Push parse_push(comm::Message&& message, MessageReader reader, const ParameterShapes& shapes) {
    if (reader.header().steps > max_steps_of_push)
        throw MessageError(fmt::format("a push that ends {} steps, and at most {} end with one",
                                       reader.header().steps, max_steps_of_push));
    Push push;
    while (const auto section = reader.next())
        if (section->table == dense_parameters)
            push.parts.emplace_back(dense_gradients(*section, shapes));
        else
            push.parts.emplace_back(row_gradients(*section, shapes.table(section->table)));
    push.message = std::move(message);
    return push;
}

}  // namespace dtrain::ps
