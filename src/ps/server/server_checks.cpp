// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Server: validation of messages, before anything is done.
#include <fmt/format.h>

#include "ps/server/server.hpp"

namespace dtrain::ps {

void Server::check_push(MessageReader reader) const {
    if (reader.header().steps > max_steps_of_push)
        throw MessageError(fmt::format("a push that ends {} steps, and at most {} end with one",
                                       reader.header().steps, max_steps_of_push));
    while (const auto section = reader.next()) {
        if (section->table == dense_parameters) {
            const auto count = section->floats(section->count).size();
            if (section->first > dense_.size() || count > dense_.size() - section->first)
                throw MessageError(fmt::format("gradients of elements {} to {} of {}", section->first,
                                               section->first + count, dense_.size()));
            continue;
        }
        if (section->table >= tables_.size())
            throw MessageError(fmt::format("table {} of {}", section->table, tables_.size()));
        const auto& batch = batches_[section->table];
        batch.check(section->floats_behind_ids(section->ids().size() * batch.row_width()));
    }
}

// Rejects a pull whose answer would exceed the message limit before building the answer: a few bytes can
// request any amount of memory.
void Server::check_pull(MessageReader reader, int from) const {
    constexpr auto max = 2 * comm::max_message_bytes;  // numbers may be sent in half of their bytes
    std::size_t bytes = 0;
    const auto add = [&](std::size_t floats) {
        bytes += floats * sizeof(float);
        if (bytes > max) throw MessageError(too_long(MessageKind::values, from, bytes, max));
    };
    while (const auto section = reader.next()) {
        if (section->table == dense_parameters) {
            if (section->first > dense_.size() || section->count > dense_.size() - section->first)
                throw MessageError(fmt::format("elements {} and {} more of {}", section->first,
                                               section->count, dense_.size()));
            add(section->count);
            continue;
        }
        if (section->table >= tables_.size())
            throw MessageError(fmt::format("table {} of {}", section->table, tables_.size()));
        add(section->ids().size() * tables_[section->table].width());
    }
}

void Server::check_day(MessageReader reader) {
    const auto section = reader.next();
    if (!section || section->first > UINT32_MAX) throw MessageError("a 'day' without its number");
}

}  // namespace dtrain::ps
