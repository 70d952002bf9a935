// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Rows of tables, on their way from the servers.
#include <algorithm>
#include <utility>

#include "ps/client/client.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {

Client::RowRequest Client::ask_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::int64_t step,
                                    bool peeks) {
    const auto servers = options_.servers.size();
    const auto most = letter_rows(table);
    RowRequest asked{.table = table,
                     .step = step,
                     .requests = std::vector<std::vector<std::uint64_t>>(servers),
                     .counts = std::vector<std::size_t>(servers)};
    std::vector<std::vector<std::int64_t>> lists(servers);  // what goes with the next letter
    auto& [newest, next] = asked_[table];
    auto& distinct = newest[next++ % newest.size()];
    distinct.begin(ids.size());
    while (!ids.empty()) {
        const auto part = ids.first(std::min(most, ids.size()));
        ids = ids.subspan(part.size());
        const auto added = distinct.add(part);
        if (servers == 1) {
            const auto all = distinct.ids();
            if (all.size() - asked.counts[0] >= most)
                ask_rows_of(asked, 0, all.subspan(asked.counts[0], most), peeks);
            continue;
        }
        for (const auto id : added) {
            const auto server = server_of(id, static_cast<std::uint32_t>(servers));
            asked.servers.push_back(server);
            auto& list = lists[server];
            list.push_back(id);
            if (list.size() < most) continue;
            ask_rows_of(asked, server, list, peeks);
            list.clear();
        }
    }
    if (servers == 1) {
        if (const auto rest = distinct.ids().subspan(asked.counts[0]); !rest.empty())
            ask_rows_of(asked, 0, rest, peeks);
    } else {
        for (std::size_t server = 0; server < servers; ++server)
            if (!lists[server].empty()) ask_rows_of(asked, server, lists[server], peeks);
    }
    if (distinct.has_repeated()) asked.places.assign(distinct.places().begin(), distinct.places().end());
    return asked;
}

void Client::ask_rows_of(RowRequest& asked, std::size_t server, std::span<const std::int64_t> ids,
                         bool peeks) {
    const auto request =
        asked.requests[server].emplace_back(expect(static_cast<int>(server), LetterKind::pull));
    LetterWriter letter(*post_, {.kind = LetterKind::pull, .step = asked.step, .request = request},
                        LetterWriter::bytes_of_rows(ids.size(), 0));
    std::ranges::copy(ids, letter.ask_rows(asked.table, ids.size(), peeks).begin());
    letter.send(options_.servers[server]);
    asked.counts[server] += ids.size();
    post_->deliver();
}

bool Client::have_rows_come(const RowRequest& asked) const {
    return std::ranges::all_of(asked.requests,
                               [this](const auto& of_server) { return have_come(of_server); });
}

void Client::forget_rows(const RowRequest& asked) {
    for (const auto& of_server : asked.requests)
        for (const auto request : of_server) {
            wait_for(request, "pull");
            forget(request);
        }
}

/// The rows of a request, one server's after the other's as one likes; each server's are taken from the
/// letters as these come, and the memory of a letter goes back when it is read.
class Client::RowsThatCome {
  public:
    RowsThatCome(Client& client, const RowRequest& asked)
        : client_(&client),
          asked_(&asked),
          width_(client.options_.widths[asked.table]),
          most_(client.letter_rows(asked.table)),
          parts_(asked.counts.size()) {}
    RowsThatCome(const RowsThatCome&) = delete;
    RowsThatCome& operator=(const RowsThatCome&) = delete;
    ~RowsThatCome() {
        for (const auto& part : parts_)
            if (part.request != 0) client_->forget(part.request);
    }

    const float* next(std::size_t server) {
        auto& rest = parts_[server].rest;
        if (rest.empty()) open(server);
        const auto* const row = rest.data();
        rest = rest.subspan(width_);
        return row;
    }

    /// As many as have come in one letter.
    std::span<const float> next_of_letter(std::size_t server) {
        auto& rest = parts_[server].rest;
        if (rest.empty()) open(server);
        return std::exchange(rest, {});
    }

  private:
    struct Part {
        std::uint64_t request = 0;
        std::size_t letters = 0;
        std::span<const float> rest;
    };

    void open(std::size_t server) {
        auto& part = parts_[server];
        if (part.request != 0) client_->forget(std::exchange(part.request, 0));
        const auto before = part.letters++;
        const auto request = asked_->requests[server].at(before);
        LetterReader reader(client_->wait_for(request, "pull").bytes());
        part.request = request;
        const auto section = reader.next();
        if (!section) throw ServerError(static_cast<int>(server), "answered without values");
        part.rest = section->floats(std::min(most_, asked_->counts[server] - before * most_) * width_);
    }

    Client* client_;
    const RowRequest* asked_;
    std::size_t width_;
    std::size_t most_;
    std::vector<Part> parts_;
};

void Client::take_rows(const RowRequest& asked, std::span<float> out) {
    const auto width = options_.widths[asked.table];
    const auto server_of = [&](std::size_t place) {
        return asked.servers.empty() ? 0 : asked.servers[place];
    };
    RowsThatCome rows(*this, asked);
    if (!asked.places.empty()) {
        std::vector<std::size_t> firsts;  // in `out`, of each place
        for (std::size_t i = 0; i < asked.places.size(); ++i) {
            const auto place = asked.places[i];
            const bool is_first = place == firsts.size();
            if (is_first) firsts.push_back(i);
            std::copy_n(is_first ? rows.next(server_of(place)) : &out[firsts[place] * width], width,
                        &out[i * width]);
        }
    } else if (!asked.servers.empty()) {
        for (std::size_t i = 0; i < asked.servers.size(); ++i)
            std::copy_n(rows.next(asked.servers[i]), width, &out[i * width]);
    } else {
        for (auto rest = out.first(asked.counts[0] * width); !rest.empty();) {
            const auto some = rows.next_of_letter(0);
            std::ranges::copy(some, rest.begin());
            rest = rest.subspan(some.size());
        }
    }
}

std::optional<Client::RowRequest> Client::prefetched(std::uint32_t table, std::span<const std::int64_t> ids) {
    const auto found = std::ranges::find_if(
        prefetched_, [&](const auto& asked) { return asked.table == table && asked.step == steps_; });
    if (found == prefetched_.end()) return std::nullopt;
    auto asked = std::move(*found);
    prefetched_.erase(found);
    if (std::ranges::equal(asked.ids, ids)) return asked;
    forget_rows(asked);  // the batch is another one
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

}  // namespace dtrain::ps
