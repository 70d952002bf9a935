// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/server_parameters.hpp"

#include <algorithm>
#include <utility>

#include "ps/table/finite.hpp"

namespace dtrain::ps {

ServerParameters::ServerParameters(DensePart dense, std::vector<ServerTable> tables, int table_threads,
                                   bool reject_not_finite, RequestCounts& counts)
    : dense_(std::move(dense)),
      team_(table_threads),
      reject_not_finite_(reject_not_finite),
      counts_(&counts) {
    shapes_.dense = dense_.size();
    for (auto& [table, learning_rate] : tables) {
        shapes_.tables.push_back({table.width(), table.options().statistics.has_value()});
        batches_.emplace_back(shapes_.tables.back());
        tables_.push_back(std::move(table));
        tables_.back().work_with(&team_);
        learning_rates_.push_back(std::move(learning_rate));
    }
}

void ServerParameters::set_gradients(int source, std::span<const Push> pushes) {
    dense_.clear_gradient(source);
    bool are_all_finite = true;
    for (const auto& push : pushes)
        for (const auto& part : push.parts) {
            if (const auto* const rows = std::get_if<RowGradients>(&part)) {
                batches_[rows->table].add(source, *rows);
                counts_->keys_pushed += rows->ids.size();
                continue;
            }
            const auto& [first, values] = std::get<DenseGradients>(part);
            if (reject_not_finite_) are_all_finite = are_all_finite && is_finite(values);
            if (are_all_finite) dense_.set_gradient(source, first, values);
        }
    if (are_all_finite) return;
    dense_.clear_gradient(source);
    ++counts_->dense_rejected;
}

void ServerParameters::update(std::uint32_t steps, std::int64_t step) {
    dense_.update(steps);
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        UpdateTime time{.step = step};
        if (!learning_rates_[i].empty()) time.learning_rate = dense_.number(learning_rates_[i]);
        tables_[i].push(batches_[i].gradients(), time, batches_[i].has_each_id_once());
        batches_[i].clear();
    }
}

void ServerParameters::write_values(const AskedValues& pull, MessageWriter& answer) {
    for (const auto& part : pull.parts)
        std::visit([&](const auto& asked) { add_values(asked, answer); }, part);
    if (pull.asks_dense) write_sizes(answer);
}

void ServerParameters::add_values(const DenseRange& range, MessageWriter& answer) {
    dense_.read(range.first, answer.add_dense(range.first, range.count));
}

void ServerParameters::add_values(const AskedRows& asked, MessageWriter& answer) {
    auto& table = tables_[asked.table];
    const auto rows = answer.add_values(asked.table, asked.ids.size(), table.width());
    if (asked.reads_only)
        table.find(asked.ids, rows);
    else
        table.pull(asked.ids, rows);
    answer.set_size(table.size());
    counts_->keys_pulled += asked.ids.size();
}

void ServerParameters::write_sizes(MessageWriter& answer) const {
    for (std::uint32_t number = 0; number < tables_.size(); ++number)
        if (const auto& table = tables_[number]; table.options().dict_size)
            answer.add_size(number, table.size(), table.counts().evicted);
}

std::size_t ServerParameters::begin_day(const AskedDay& asked) {
    std::size_t evicted = 0;
    for (auto& table : tables_) {
        if (asked.shrinks) evicted += table.shrink();
        table.set_day(asked.day);
    }
    return evicted;
}

bool ServerParameters::work_ahead() {
    return std::ranges::any_of(tables_, [](SparseTable& table) { return table.settle(); });
}

}  // namespace dtrain::ps
