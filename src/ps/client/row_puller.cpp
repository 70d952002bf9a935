// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/row_puller.hpp"

#include <algorithm>
#include <utility>

#include "ps/client/pulled_rows.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {

// Sends each message as soon as its ids are known, so that the servers look them up meanwhile.
RowRequest RowPuller::ask(const WantedRows& wanted, PullMessages& messages) {
    const auto servers = static_cast<std::size_t>(channel_->servers());
    const auto max = shapes_->message_rows(wanted.table);
    RowRequest asked{.table = wanted.table,
                     .step = messages.step(),
                     .parts = std::vector<std::vector<RowRequest::Part>>(servers),
                     .counts = std::vector<std::size_t>(servers)};
    const auto ask_part = [&](std::size_t server, std::span<const std::int64_t> ids) {
        if (ids.empty()) return;
        const WantedRows part{wanted.table, ids, wanted.reads_only};
        asked.parts[server].push_back(ids.size() == max ? messages.send(server, part)
                                                        : messages.add(server, part));
        asked.counts[server] += ids.size();
    };
    std::vector<std::vector<std::int64_t>> lists(servers);  // ids for the next message, by server
    auto& distinct = recent_->next(wanted.table);
    distinct.begin(wanted.ids.size());
    for (auto ids = wanted.ids; !ids.empty();) {
        const auto part = ids.first(std::min(max, ids.size()));
        ids = ids.subspan(part.size());
        const auto added = distinct.add(part);
        if (servers == 1) {
            const auto all = distinct.ids();
            if (all.size() - asked.counts[0] >= max) ask_part(0, all.subspan(asked.counts[0], max));
            continue;
        }
        for (const auto id : added) {
            const auto server = server_of(id, static_cast<std::uint32_t>(servers));
            asked.servers.push_back(server);
            auto& list = lists[server];
            list.push_back(id);
            if (list.size() < max) continue;
            ask_part(server, list);
            list.clear();
        }
    }
    if (servers == 1)
        ask_part(0, distinct.ids().subspan(asked.counts[0]));
    else
        for (std::size_t server = 0; server < servers; ++server) ask_part(server, lists[server]);
    if (distinct.has_repeated()) asked.indices.assign(distinct.indices().begin(), distinct.indices().end());
    return asked;
}

std::vector<RowRequest> RowPuller::ask(std::int64_t step, std::span<const WantedRows> wanted) {
    drop_prefetches_before(step);
    PullMessages messages(*shapes_, *channel_, step);
    std::vector<RowRequest> asked;
    for (const auto& each : wanted) {
        auto early = prefetched(step, each);
        asked.push_back(early ? std::move(*early) : ask(each, messages));
    }
    messages.send_all();
    return asked;
}

void RowPuller::prefetch(std::int64_t step, std::span<const WantedRows> wanted) {
    drop_prefetches_before(step);
    PullMessages messages(*shapes_, *channel_, step + 1);
    for (const auto& each : wanted) {
        auto& asked = prefetched_.emplace_back(ask(each, messages));
        asked.ids.assign(each.ids.begin(), each.ids.end());
    }
    messages.send_all();
}

std::optional<RowRequest> RowPuller::prefetched(std::int64_t step, const WantedRows& wanted) {
    if (wanted.reads_only) return std::nullopt;
    const auto found = std::ranges::find_if(prefetched_, [&](const RowRequest& asked) {
        return asked.table == wanted.table && asked.step == step && std::ranges::equal(asked.ids, wanted.ids);
    });
    if (found == prefetched_.end()) return std::nullopt;
    auto asked = std::move(*found);
    prefetched_.erase(found);
    return asked;
}

void RowPuller::drop_prefetches_before(std::int64_t step) {
    std::erase_if(prefetched_, [&](const RowRequest& asked) {
        const bool is_old = asked.step < step;
        if (is_old) drop(asked);
        return is_old;
    });
}

bool RowPuller::have_come(const RowRequest& asked) const {
    return std::ranges::all_of(asked.parts, [this](const auto& of_server) {
        return std::ranges::all_of(of_server,
                                   [this](const auto& part) { return channel_->has_come(part.request); });
    });
}

void RowPuller::drop(const RowRequest& asked) {
    for (const auto& of_server : asked.parts)
        for (const auto& part : of_server) channel_->forget(part.request);
}

void RowPuller::take(const RowRequest& asked, std::span<float> out) {
    const auto width = shapes_->width(asked.table);
    const auto server_at = [&](std::size_t index) {
        return asked.servers.empty() ? 0 : asked.servers[index];
    };
    PulledRows rows(asked, *shapes_, *channel_);
    if (!asked.indices.empty()) {
        std::vector<std::size_t> firsts;  // index in `out` of the first row of each distinct id
        for (std::size_t i = 0; i < asked.indices.size(); ++i) {
            const auto index = asked.indices[i];
            const bool is_first = index == firsts.size();
            if (is_first) firsts.push_back(i);
            std::copy_n(is_first ? rows.next(server_at(index)) : &out[firsts[index] * width], width,
                        &out[i * width]);
        }
    } else if (!asked.servers.empty()) {
        for (std::size_t i = 0; i < asked.servers.size(); ++i)
            std::copy_n(rows.next(asked.servers[i]), width, &out[i * width]);
    } else {
        for (auto rest = out.first(asked.counts[0] * width); !rest.empty();) {
            const auto some = rows.next_of_message(0);
            std::ranges::copy(some, rest.begin());
            rest = rest.subspan(some.size());
        }
    }
}

}  // namespace dtrain::ps
