// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Client: pushing gradients of rows.
#include <algorithm>
#include <utility>

#include "kernels/loops.hpp"
#include "ps/client/client.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

namespace loops = kernels::loops;

// Fewer rows do not justify a message, nor several threads on the server.
constexpr std::size_t min_rows = 2048;

// Adds rows in order to `row_at(place)`; the first row of each place overwrites what is there.
template <class RowAt>
void add_up(std::span<const std::uint32_t> places, std::span<const float> values, std::size_t width,
            const RowAt& row_at) {
    std::uint32_t seen = 0;  // places below this have occurred
    for (std::size_t i = 0; i < places.size(); ++i) {
        const float* const from = &values[i * width];
        float* const to = row_at(places[i]);
        if (places[i] != seen) {
            loops::add(from, to, width);
            continue;
        }
        if (from != to) std::copy_n(from, width, to);
        ++seen;
    }
}

std::uint32_t server_of_id(std::int64_t id, std::size_t servers) {
    return servers == 1 ? 0 : server_of(id, static_cast<std::uint32_t>(servers));
}

}  // namespace

bool Client::has_statistics(std::uint32_t table) const {
    return table < options_.with_statistics.size() && options_.with_statistics[table];
}

std::size_t Client::width_to_push(std::uint32_t table) const {
    return pushed_width(options_.widths[table], has_statistics(table));
}

// Appends the statistics to each row: one show, and its clicks.
std::span<const float> Client::with_statistics(std::span<const float> gradients, std::size_t width,
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

void Client::push_rows(std::uint32_t table, std::span<const std::int64_t> ids,
                       std::span<const float> gradients, bool last, std::span<const float> clicks) {
    const auto width = width_to_push(table);
    if (has_statistics(table)) gradients = with_statistics(gradients, options_.widths[table], clicks);
    auto& waiting = gradients_[table];
    const bool leaves_now = last && leaves_with_step();
    if (leaves_now && waiting.lists == 0) return write_rows(table, ids, gradients, true);
    if (waiting.lists++ == 0) {
        waiting.ids.assign(ids.begin(), ids.end());
        waiting.values.assign(gradients.begin(), gradients.end());
        merge_repeated(distinct_, width, waiting.ids, waiting.values);
    } else {
        Gradients more{{ids.begin(), ids.end()}, {gradients.begin(), gradients.end()}};
        merge_repeated(distinct_, width, more.ids, more.values);
        waiting.ids.insert(waiting.ids.end(), more.ids.begin(), more.ids.end());
        waiting.values.insert(waiting.values.end(), more.values.begin(), more.values.end());
    }
    if (leaves_now) send_rows(table);
}

// Whether the gradients of this step are sent at its end, not merged with those of another step.
bool Client::leaves_with_step() const {
    return options_.mode != ServerMode::async || (merged_steps_ == 0 && is_all_applied());
}

void Client::send_rows(std::uint32_t table) {
    auto& [ids, values, lists, are_written] = gradients_[table];
    write_rows(table, ids, values, std::exchange(lists, 0) > 1);
    ids.clear();
    values.clear();
}

std::size_t Client::message_rows(std::uint32_t table) const {
    if (options_.message_rows > 0) return options_.message_rows;
    const auto bytes = sizeof(std::int64_t) + width_to_push(table) * sizeof(float);
    return std::max(full_message / bytes, min_rows);
}

void Client::write_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> values,
                        bool may_repeat) {
    if (ids.empty()) return;
    ids_are_new_ = !std::exchange(gradients_[table].are_written, true);
    if (may_repeat)
        if (const auto& distinct = distinct_of(table, ids); distinct.has_repeated())
            return write_sums(table, distinct, values);
    write_each(table, ids, values);
}

const DistinctIds& Client::distinct_of(std::uint32_t table, std::span<const std::int64_t> ids) {
    for (const auto& asked : asked_[table].newest)
        if (asked.is_of(ids)) return asked;
    distinct_.begin(ids.size());
    distinct_.add(ids);
    return distinct_;
}

// Sends each message as soon as it is full, except the last one, since the step may have more rows.
void Client::write_each(std::uint32_t table, std::span<const std::int64_t> ids,
                        std::span<const float> values) {
    const auto width = width_to_push(table);
    if (servers() == 1) {
        const auto max = message_rows(table);
        while (!ids.empty()) {
            const auto count = std::min(max, ids.size());
            const auto rows = add_rows(0, table, count);
            std::ranges::copy(ids.first(count), rows.ids.begin());
            std::ranges::copy(values.first(count * width), rows.values.begin());
            ids = ids.subspan(count);
            values = values.subspan(count * width);
            if (!ids.empty()) send_push(0, 0);
        }
        return;
    }
    struct Part {
        MessageWriter::Rows rows;
        std::size_t filled = 0;
        std::size_t left = 0;  // rows still to add after these
    };
    std::vector<Part> parts(options_.servers.size());
    std::vector<std::uint32_t> servers_of;
    servers_of.reserve(ids.size());
    for (const auto id : ids) ++parts[servers_of.emplace_back(server_of_id(id, parts.size()))].left;
    const auto max = message_rows(table);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto server = servers_of[i];
        auto& [rows, filled, left] = parts[server];
        if (filled == rows.ids.size()) {
            if (filled > 0) send_push(static_cast<int>(server), 0);
            const auto count = std::min(max, left);
            rows = add_rows(static_cast<int>(server), table, count);
            left -= count;
            filled = 0;
        }
        rows.ids[filled] = ids[i];
        std::copy_n(&values[i * width], width, &rows.values[filled * width]);
        ++filled;
    }
}

// Sums are complete only at the end of the batch, so no message is sent before.
void Client::write_sums(std::uint32_t table, const DistinctIds& distinct, std::span<const float> values) {
    const auto each = distinct.ids();
    const auto width = width_to_push(table);
    const auto max = message_rows(table);
    std::vector<std::vector<std::uint32_t>> places(options_.servers.size());
    for (std::uint32_t place = 0; place < each.size(); ++place)
        places[server_of_id(each[place], places.size())].push_back(place);
    std::vector<float*> sums(each.size());
    std::vector<std::vector<MessageWriter>> messages(places.size());
    for (std::size_t server = 0; server < places.size(); ++server) {
        for (auto rest = std::span<const std::uint32_t>(places[server]); !rest.empty();) {
            const auto here = rest.first(std::min(max, rest.size()));
            rest = rest.subspan(here.size());
            const auto rows = add_rows(static_cast<int>(server), table, here.size());
            for (std::size_t i = 0; i < here.size(); ++i) {
                rows.ids[i] = each[here[i]];
                sums[here[i]] = &rows.values[i * width];
            }
            messages[server].push_back(take_push(static_cast<int>(server)));
        }
    }
    add_up(distinct.places(), values, width, [&](std::uint32_t place) { return sums[place]; });
    for (std::size_t server = 0; server < messages.size(); ++server)
        for (auto& message : messages[server]) {
            if (pushes_[server]) send_push(static_cast<int>(server), 0);
            pushes_[server] = std::move(message);
        }
}

/// Reserves rows in the open message to a server, or in a new one if it is already long.
MessageWriter::Rows Client::add_rows(int server, std::uint32_t table, std::size_t count) {
    const auto width = width_to_push(table);
    const auto bytes = MessageWriter::bytes_of_rows(count, width);
    const auto& open = pushes_[static_cast<std::size_t>(server)];
    if (open && leaves_before(open->size(), bytes)) send_push(server, 0);
    return open_push(server, bytes).add_rows(table, count, width, ids_are_new_);
}

void merge_repeated(DistinctIds& distinct, std::size_t width, std::vector<std::int64_t>& ids,
                    std::vector<float>& values) {
    if (!distinct.find_repeated(ids)) return;
    // In-place is safe: the destination never lies after the row being read.
    add_up(distinct.places(), values, width, [&](std::uint32_t place) { return &values[place * width]; });
    ids.assign(distinct.ids().begin(), distinct.ids().end());
    values.resize(ids.size() * width);
}

}  // namespace dtrain::ps
