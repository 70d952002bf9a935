// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/request.hpp"

#include <utility>

#include <fmt/format.h>

namespace dtrain::ps {
namespace {

AskedValues parse_pull(MessageReader reader, const ParameterShapes& shapes, int from) {
    constexpr auto max = 2 * comm::max_message_bytes;  // numbers may be sent in half of their bytes
    std::size_t bytes = 0;
    const auto add = [&](std::size_t floats) {
        bytes += floats * sizeof(float);
        if (bytes > max) throw MessageError(too_long(MessageKind::values, from, bytes, max));
    };
    AskedValues pull;
    while (const auto section = reader.next()) {
        if (section->table == dense_parameters) {
            if (section->first > shapes.dense || section->count > shapes.dense - section->first)
                throw MessageError(fmt::format("elements {} and {} more of {}", section->first,
                                               section->count, shapes.dense));
            add(section->count);
            pull.parts.emplace_back(DenseRange{section->first, section->count});
            pull.asks_dense = true;
            pull.answer_bytes += MessageWriter::bytes_of_rows(0, 0) + section->count * sizeof(float);
            continue;
        }
        const auto& table = shapes.table(section->table);
        const auto ids = section->ids();
        add(ids.size() * table.width);
        pull.parts.emplace_back(AskedRows{section->table, ids, section->reads_only});
        pull.answer_bytes += MessageWriter::bytes_of_rows(ids.size(), table.width);
    }
    return pull;
}

AskedDay parse_day(MessageReader reader) {
    const auto section = reader.next();
    if (!section || section->first > UINT32_MAX) throw MessageError("a 'day' without its number");
    return {static_cast<std::uint32_t>(section->first), section->count > 0};
}

std::variant<AskedValues, AskedSave, AskedDay> content_of(const MessageReader& reader,
                                                          const ParameterShapes& shapes, int from) {
    switch (reader.header().kind) {
        case MessageKind::pull:
            return parse_pull(reader, shapes, from);
        case MessageKind::save:
            return AskedSave{std::string(reader.text())};
        default:
            return parse_day(reader);
    }
}

}  // namespace

Request parse_request(comm::Message&& message, const MessageReader& reader, const ParameterShapes& shapes) {
    auto content = content_of(reader, shapes, message.from);
    return {std::move(message), reader.header(), std::move(content)};
}

}  // namespace dtrain::ps
