// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Server: answers pulls with parameters and rows.
#include "ps/server/server.hpp"

namespace dtrain::ps {

void Server::give_values(std::size_t trainer, MessageReader reader) {
    const Timed timed(load_.answers);
    MessageWriter writer(*transport_,
                         {.kind = MessageKind::values, .step = steps_, .request = reader.header().request},
                         likely_bytes_of_answer(reader));
    bool asks_dense = false;
    while (const auto section = reader.next()) {
        if (section->table == dense_parameters) {
            bring_dense();
            dense_.read(section->first, writer.add_dense(section->first, section->count));
            asks_dense = true;
            continue;
        }
        auto& table = tables_[section->table];
        const auto ids = section->ids();
        const auto rows = writer.add_values(section->table, ids.size(), table.width());
        if (section->reads_only)
            table.find(ids, rows);
        else
            table.pull(ids, rows);
        writer.set_size(table.size());
        counts_.keys_pulled += ids.size();
    }
    if (asks_dense) add_sizes(writer);
    writer.send(trainers_[trainer].rank);
}

std::size_t Server::likely_bytes_of_answer(MessageReader asked) const {
    std::size_t bytes = 0;
    while (const auto section = asked.next())
        if (section->table != dense_parameters)
            bytes += MessageWriter::bytes_of_rows(section->count, tables_[section->table].width());
        else
            bytes += MessageWriter::bytes_of_rows(0, 0) + section->count * sizeof(float);
    return bytes;
}

}  // namespace dtrain::ps
