// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Server: applies what is pushed, and manages its tables.
#include <utility>

#include <fmt/format.h>

#include "ps/server/server.hpp"
#include "ps/table/finite.hpp"

namespace dtrain::ps {

void Server::take_gradients(int source, const std::vector<comm::Message>& messages) {
    bool is_finite_all = true;
    for (const auto& message : messages) {
        MessageReader reader(message.content.bytes());
        while (const auto section = reader.next()) {
            if (section->table == dense_parameters) {
                const auto values = section->floats(section->count);
                if (options_.reject_not_finite) is_finite_all = is_finite_all && is_finite(values);
                if (is_finite_all) dense_.set_gradient(source, section->first, values);
                continue;
            }
            batches_[section->table].add(source, *section);
            counts_.keys_pushed += section->count;
        }
    }
    if (is_finite_all) return;
    dense_.clear_gradient(source);
    ++counts_.dense_rejected;
}

// Errors of an update on a GPU appear here, where the server waits for it.
void Server::bring_dense() {
    try {
        dense_.bring();
    } catch (const Error& failed) {
        broken_ = fmt::format("an update on {} failed: {}", dense_.device(), failed.what());
        throw Error(broken_);
    }
}

void Server::update_tables() {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        UpdateTime time{.step = steps_};
        if (!learning_rates_[i].empty()) time.learning_rate = dense_.number(learning_rates_[i]);
        tables_[i].push(batches_[i].gradients(), time, batches_[i].has_each_id_once());
        batches_[i].clear();
    }
}

void Server::begin_day(std::size_t trainer, MessageReader reader) {
    const auto section = reader.next();
    std::size_t evicted = 0;
    for (auto& table : tables_) {
        if (section->count > 0) evicted += table.shrink();
        table.set_day(static_cast<std::uint32_t>(section->first));
    }
    reply(trainer, {.kind = MessageKind::begun,
                    .step = static_cast<std::int64_t>(evicted),
                    .request = reader.header().request});
}

}  // namespace dtrain::ps
