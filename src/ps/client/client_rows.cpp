// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What a Client does with rows of tables.
#include <algorithm>
#include <utility>

#include "kernels/loops.hpp"
#include "ps/client/client.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

namespace loops = kernels::loops;

// Adds up rows in their order where `row_at(place)` is; what was there before a place first comes does not
// count.
template <class RowAt>
void add_up(std::span<const std::uint32_t> places, std::span<const float> values, std::size_t width,
            const RowAt& row_at) {
    std::uint32_t seen = 0;  // places below have come
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

// Rows as they are pushed, each shown once.
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

// Whether the gradients of this step go to the servers at its end, and none of an earlier one with them.
bool Client::leaves_with_step() const {
    return options_.mode != ServerMode::async || (merged_steps_ == 0 && is_all_applied());
}

void Client::send_rows(std::uint32_t table) {
    auto& [ids, values, lists] = gradients_[table];
    write_rows(table, ids, values, std::exchange(lists, 0) > 1);
    ids.clear();
    values.clear();
}

void Client::write_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> values,
                        bool may_repeat) {
    if (ids.empty()) return;
    const auto width = width_to_push(table);
    const bool repeats = may_repeat && distinct_.find_repeated(ids);
    const auto each = repeats ? distinct_.ids() : ids;
    if (servers() == 1) {
        const auto rows = open_push(0).add_rows(table, each.size(), width);
        std::ranges::copy(each, rows.ids.begin());
        if (repeats)
            add_up(distinct_.places(), values, width,
                   [&](std::uint32_t place) { return &rows.values[place * width]; });
        else
            std::ranges::copy(values, rows.values.begin());
        return;
    }
    std::vector<std::size_t> counts(options_.servers.size());
    for (const auto id : each) ++counts[server_of_id(id, counts.size())];
    std::vector<LetterWriter::Rows> rows(counts.size());
    for (std::size_t server = 0; server < counts.size(); ++server)
        if (counts[server] > 0)
            rows[server] = open_push(static_cast<int>(server)).add_rows(table, counts[server], width);
    std::ranges::fill(counts, 0);
    std::vector<float*> to(each.size());
    for (std::size_t i = 0; i < each.size(); ++i) {
        const auto server = server_of_id(each[i], counts.size());
        const auto at = counts[server]++;
        rows[server].ids[at] = each[i];
        to[i] = &rows[server].values[at * width];
    }
    if (repeats)
        add_up(distinct_.places(), values, width, [&](std::uint32_t place) { return to[place]; });
    else
        for (std::size_t i = 0; i < to.size(); ++i) std::copy_n(&values[i * width], width, to[i]);
}

Client::RowRequest Client::ask_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::int64_t step,
                                    bool peeks) {
    const auto servers = options_.servers.size();
    RowRequest asked{.table = table, .step = step, .counts = std::vector<std::size_t>(servers)};
    auto wanted = ids;
    if (distinct_.find_repeated(ids)) {
        asked.places.assign(distinct_.places().begin(), distinct_.places().end());
        wanted = distinct_.ids();
    }
    if (servers == 1) {
        asked.counts[0] = wanted.size();
    } else {
        asked.rows.reserve(wanted.size());
        for (const auto id : wanted) {
            const auto server = server_of_id(id, servers);
            asked.rows.push_back({server, static_cast<std::uint32_t>(asked.counts[server]++)});
        }
    }
    std::vector<LetterWriter> letters;
    std::vector<std::span<std::int64_t>> lists;
    for (std::size_t server = 0; server < servers; ++server) {
        asked.requests.push_back(asked.counts[server] > 0 ? expect(static_cast<int>(server), LetterKind::pull)
                                                          : 0);
        letters.emplace_back(
            *post_, LetterHead{.kind = LetterKind::pull, .step = step, .request = asked.requests[server]});
        lists.push_back(letters.back().ask_rows(table, asked.counts[server], peeks));
    }
    if (asked.rows.empty())
        std::ranges::copy(wanted, lists[0].begin());
    else
        for (std::size_t i = 0; i < wanted.size(); ++i)
            lists[asked.rows[i].server][asked.rows[i].number] = wanted[i];
    for (std::size_t server = 0; server < servers; ++server)
        if (asked.counts[server] > 0) letters[server].send(options_.servers[server]);
    return asked;
}

bool Client::have_rows_come(const RowRequest& asked) const {
    return have_come(asked.requests);
}

void Client::take_rows(const RowRequest& asked, std::span<float> out) {
    const auto width = options_.widths[asked.table];
    std::vector<std::span<const float>> values(asked.counts.size());
    for (std::size_t server = 0; server < values.size(); ++server) {
        if (asked.requests[server] == 0) continue;
        LetterReader reader(wait_for(asked.requests[server], "pull").bytes());
        const auto section = reader.next();
        if (!section) throw ServerError(static_cast<int>(server), "answered without values");
        values[server] = section->floats(asked.counts[server] * width);
    }
    const auto copy = [&](std::size_t from, std::size_t to) {
        const auto [server, number] =
            asked.rows.empty() ? RowRequest::Row{0, static_cast<std::uint32_t>(from)} : asked.rows[from];
        std::copy_n(&values[server][number * width], width, &out[to * width]);
    };
    if (!asked.places.empty())
        for (std::size_t i = 0; i < asked.places.size(); ++i) copy(asked.places[i], i);
    else if (asked.rows.empty())
        std::ranges::copy(values[0], out.begin());
    else
        for (std::size_t i = 0; i < asked.rows.size(); ++i) copy(i, i);
    for (const auto request : asked.requests)
        if (request != 0) forget(request);
}

std::optional<Client::RowRequest> Client::prefetched(std::uint32_t table, std::span<const std::int64_t> ids) {
    const auto found = std::ranges::find_if(
        prefetched_, [&](const auto& asked) { return asked.table == table && asked.step == steps_; });
    if (found == prefetched_.end()) return std::nullopt;
    auto asked = std::move(*found);
    prefetched_.erase(found);
    if (std::ranges::equal(asked.ids, ids)) return asked;
    // The batch is another one.
    for (const auto request : asked.requests) {
        if (request == 0) continue;
        wait_for(request, "pull");
        forget(request);
    }
    return std::nullopt;
}

void Client::pull_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::span<float> out,
                       bool peeks) {
    const auto asked = peeks ? std::nullopt : prefetched(table, ids);
    take_rows(asked ? *asked : ask_rows(table, ids, steps_, peeks), out);
}

void Client::prefetch_rows(std::uint32_t table, std::span<const std::int64_t> ids) {
    auto& asked = prefetched_.emplace_back(ask_rows(table, ids, steps_ + 1, false));
    asked.ids.assign(ids.begin(), ids.end());
}

void merge_repeated(DistinctIds& distinct, std::size_t width, std::vector<std::int64_t>& ids,
                    std::vector<float>& values) {
    if (!distinct.find_repeated(ids)) return;
    // A place never lies behind the row that is read.
    add_up(distinct.places(), values, width, [&](std::uint32_t place) { return &values[place * width]; });
    ids.assign(distinct.ids().begin(), distinct.ids().end());
    values.resize(ids.size() * width);
}

}  // namespace dtrain::ps
