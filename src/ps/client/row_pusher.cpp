// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/row_pusher.hpp"

#include <algorithm>
#include <utility>

#include "ps/client/message_size.hpp"
#include "ps/client/row_sums.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

std::uint32_t server_of_id(std::int64_t id, std::size_t servers) {
    return servers == 1 ? 0 : server_of(id, static_cast<std::uint32_t>(servers));
}

}  // namespace

RowPusher::RowPusher(const TableShapes& shapes, const StepClock& clock, const RecentBatches& recent,
                     int servers, PushMessages& messages)
    : shapes_(&shapes),
      clock_(&clock),
      recent_(&recent),
      servers_(static_cast<std::size_t>(servers)),
      messages_(&messages),
      kept_(shapes.tables()) {}

// Appends the statistics to each row: one show, and its clicks.
std::span<const float> RowPusher::with_statistics(std::span<const float> gradients, std::size_t width,
                                                  std::span<const float> clicks) {
    rows_to_push_.clear();
    for (std::size_t i = 0; i * width < gradients.size(); ++i) {
        const auto gradient = gradients.subspan(i * width, width);
        rows_to_push_.insert(rows_to_push_.end(), gradient.begin(), gradient.end());
        rows_to_push_.push_back(1);
        rows_to_push_.push_back(clicks.empty() ? 0 : clicks[i]);
    }
    return rows_to_push_;
}

void RowPusher::push(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> gradients,
                     bool last, std::span<const float> clicks) {
    const auto width = shapes_->width_to_push(table);
    if (shapes_->has_statistics(table)) gradients = with_statistics(gradients, shapes_->width(table), clicks);
    auto& kept = kept_[table];
    const bool leaves_now = last && clock_->sends_this_step();
    if (leaves_now && kept.lists == 0) return write(table, ids, gradients, true);
    if (kept.lists++ == 0) {
        kept.ids.assign(ids.begin(), ids.end());
        kept.values.assign(gradients.begin(), gradients.end());
        merge_repeated(distinct_, width, kept.ids, kept.values);
    } else {
        Gradients more{{ids.begin(), ids.end()}, {gradients.begin(), gradients.end()}};
        merge_repeated(distinct_, width, more.ids, more.values);
        kept.ids.insert(kept.ids.end(), more.ids.begin(), more.ids.end());
        kept.values.insert(kept.values.end(), more.values.begin(), more.values.end());
    }
    if (leaves_now) write_kept(table);
}

void RowPusher::finish_step() {
    for (std::uint32_t table = 0; table < kept_.size(); ++table) {
        write_kept(table);
        kept_[table].are_written = false;
    }
}

void RowPusher::write_kept(std::uint32_t table) {
    auto& [ids, values, lists, are_written] = kept_[table];
    write(table, ids, values, std::exchange(lists, 0) > 1);
    ids.clear();
    values.clear();
}

void RowPusher::write(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> values,
                      bool may_repeat) {
    if (ids.empty()) return;
    ids_are_new_ = !std::exchange(kept_[table].are_written, true);
    if (may_repeat)
        if (const auto& distinct = distinct_of(table, ids); distinct.has_repeated())
            return write_sums(table, distinct, values);
    if (servers_ == 1)
        write_to_one_server(table, ids, values);
    else
        write_to_each_server(table, ids, values);
}

const DistinctIds& RowPusher::distinct_of(std::uint32_t table, std::span<const std::int64_t> ids) {
    if (const auto* const pulled = recent_->find(table, ids)) return *pulled;
    distinct_.begin(ids.size());
    distinct_.add(ids);
    return distinct_;
}

// Sends each message as soon as it is full, except the last one, since the step may have more rows.
void RowPusher::write_to_one_server(std::uint32_t table, std::span<const std::int64_t> ids,
                                    std::span<const float> values) {
    const auto width = shapes_->width_to_push(table);
    const auto max = shapes_->message_rows(table);
    while (!ids.empty()) {
        const auto count = std::min(max, ids.size());
        const auto rows = add_rows(0, table, count);
        std::ranges::copy(ids.first(count), rows.ids.begin());
        std::ranges::copy(values.first(count * width), rows.values.begin());
        ids = ids.subspan(count);
        values = values.subspan(count * width);
        if (!ids.empty()) messages_->send(0);
    }
}

// As write_to_one_server(), with the rows of each server.
void RowPusher::write_to_each_server(std::uint32_t table, std::span<const std::int64_t> ids,
                                     std::span<const float> values) {
    struct Part {
        MessageWriter::Rows rows;
        std::size_t filled = 0;
        std::size_t left = 0;  // rows still to add after these
    };
    const auto width = shapes_->width_to_push(table);
    const auto max = shapes_->message_rows(table);
    std::vector<Part> parts(servers_);
    std::vector<std::uint32_t> servers_of;
    servers_of.reserve(ids.size());
    for (const auto id : ids) ++parts[servers_of.emplace_back(server_of_id(id, servers_))].left;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto server = servers_of[i];
        auto& [rows, filled, left] = parts[server];
        if (filled == rows.ids.size()) {
            if (filled > 0) messages_->send(static_cast<int>(server));
            const auto count = std::min(max, left);
            rows = add_rows(server, table, count);
            left -= count;
            filled = 0;
        }
        rows.ids[filled] = ids[i];
        std::copy_n(&values[i * width], width, &rows.values[filled * width]);
        ++filled;
    }
}

// Sums are complete only at the end of the batch, so no message is sent before.
void RowPusher::write_sums(std::uint32_t table, const DistinctIds& distinct, std::span<const float> values) {
    const auto each = distinct.ids();
    const auto width = shapes_->width_to_push(table);
    const auto max = shapes_->message_rows(table);
    std::vector<std::vector<std::uint32_t>> indices(servers_);
    for (std::uint32_t index = 0; index < each.size(); ++index)
        indices[server_of_id(each[index], servers_)].push_back(index);
    std::vector<float*> sums(each.size());
    std::vector<std::vector<MessageWriter>> complete(servers_);
    for (std::size_t server = 0; server < servers_; ++server) {
        for (auto rest = std::span<const std::uint32_t>(indices[server]); !rest.empty();) {
            const auto part = rest.first(std::min(max, rest.size()));
            rest = rest.subspan(part.size());
            const auto rows = add_rows(server, table, part.size());
            for (std::size_t i = 0; i < part.size(); ++i) {
                rows.ids[i] = each[part[i]];
                sums[part[i]] = &rows.values[i * width];
            }
            complete[server].push_back(messages_->take(static_cast<int>(server)));
        }
    }
    add_rows_up(distinct.indices(), values, width, [&](std::uint32_t index) { return sums[index]; });
    for (std::size_t server = 0; server < servers_; ++server)
        for (auto& message : complete[server])
            messages_->put_back(static_cast<int>(server), std::move(message));
}

// Reserves rows in the open message to a server, or in a new one if it is already long.
MessageWriter::Rows RowPusher::add_rows(std::size_t server, std::uint32_t table, std::size_t count) {
    const auto number = static_cast<int>(server);
    const auto width = shapes_->width_to_push(table);
    const auto bytes = MessageWriter::bytes_of_rows(count, width);
    if (must_flush_before(messages_->size(number), bytes)) messages_->send(number);
    return messages_->open(number, bytes).add_rows(table, count, width, ids_are_new_);
}

}  // namespace dtrain::ps
