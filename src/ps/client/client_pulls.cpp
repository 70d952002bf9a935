// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Client: pulling rows of tables.
#include <algorithm>
#include <utility>

#include "ps/client/client.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {

/// Builds and sends the requests for rows of one step. A message may contain requests for several tables.
class Client::PullMessages {
  public:
    PullMessages(Client& client, std::int64_t step)
        : client_(&client), step_(step), open_(client.options_.servers.size()) {}

    std::int64_t step() const { return step_; }

    /// Adds to the open message to a server; sends that first if it is long.
    RowRequest::Part add(std::size_t server, const WantedRows& wanted) {
        auto& open = open_[server];
        const auto bytes =
            MessageWriter::bytes_of_rows(wanted.ids.size(), client_->options_.widths[wanted.table]);
        if (open && leaves_before(open->answer_bytes, bytes)) send(server);
        if (!open) open.emplace(begun(server, wanted));
        open->answer_bytes += bytes;
        return write(*open, wanted);
    }

    /// Sends a message of its own, at once.
    RowRequest::Part send(std::size_t server, const WantedRows& wanted) {
        auto message = begun(server, wanted);
        const auto part = write(message, wanted);
        send(server, message);
        return part;
    }

    void send_all() {
        for (std::size_t server = 0; server < open_.size(); ++server)
            if (open_[server]) send(server);
    }

  private:
    struct Open {
        MessageWriter message;
        std::uint64_t request = 0;
        std::size_t sections = 0;
        std::size_t answer_bytes = 0;
    };

    Open begun(std::size_t server, const WantedRows& wanted) {
        const auto request = client_->expect(static_cast<int>(server), MessageKind::pull);
        const MessageHeader header{.kind = MessageKind::pull, .step = step_, .request = request};
        return {
            MessageWriter(*client_->transport_, header, MessageWriter::bytes_of_rows(wanted.ids.size(), 0)),
            request};
    }

    RowRequest::Part write(Open& open, const WantedRows& wanted) {
        std::ranges::copy(wanted.ids,
                          open.message.ask_rows(wanted.table, wanted.ids.size(), wanted.reads_only).begin());
        const auto section = open.sections++;
        client_->answers_.at(open.request).takers = open.sections;
        return {open.request, section};
    }

    void send(std::size_t server) {
        send(server, *open_[server]);
        open_[server].reset();
    }

    void send(std::size_t server, Open& open) {
        open.message.send(client_->options_.servers[server]);
        client_->transport_->deliver();
    }

    Client* client_;
    std::int64_t step_;
    std::vector<std::optional<Open>> open_;  // by server
};

Client::RowRequest Client::ask_rows(const WantedRows& wanted, PullMessages& messages) {
    const auto servers = options_.servers.size();
    const auto max = message_rows(wanted.table);
    RowRequest asked{.table = wanted.table,
                     .step = messages.step(),
                     .parts = std::vector<std::vector<RowRequest::Part>>(servers),
                     .counts = std::vector<std::size_t>(servers)};
    const auto ask = [&](std::size_t server, std::span<const std::int64_t> ids) {
        if (ids.empty()) return;
        const WantedRows part{wanted.table, ids, wanted.reads_only};
        asked.parts[server].push_back(ids.size() == max ? messages.send(server, part)
                                                        : messages.add(server, part));
        asked.counts[server] += ids.size();
    };
    std::vector<std::vector<std::int64_t>> lists(servers);  // ids for the next message, by server
    auto& [newest, next] = asked_[wanted.table];
    auto& distinct = newest[next++ % newest.size()];
    distinct.begin(wanted.ids.size());
    for (auto ids = wanted.ids; !ids.empty();) {
        const auto part = ids.first(std::min(max, ids.size()));
        ids = ids.subspan(part.size());
        const auto added = distinct.add(part);
        if (servers == 1) {
            const auto all = distinct.ids();
            if (all.size() - asked.counts[0] >= max) ask(0, all.subspan(asked.counts[0], max));
            continue;
        }
        for (const auto id : added) {
            const auto server = server_of(id, static_cast<std::uint32_t>(servers));
            asked.servers.push_back(server);
            auto& list = lists[server];
            list.push_back(id);
            if (list.size() < max) continue;
            ask(server, list);
            list.clear();
        }
    }
    if (servers == 1)
        ask(0, distinct.ids().subspan(asked.counts[0]));
    else
        for (std::size_t server = 0; server < servers; ++server) ask(server, lists[server]);
    if (distinct.has_repeated()) asked.places.assign(distinct.places().begin(), distinct.places().end());
    return asked;
}

bool Client::have_rows_come(const RowRequest& asked) const {
    return std::ranges::all_of(asked.parts, [this](const auto& of_server) {
        return std::ranges::all_of(of_server, [this](const auto& part) { return has_come(part.request); });
    });
}

void Client::drop_rows(const RowRequest& asked) {
    for (const auto& of_server : asked.parts)
        for (const auto& part : of_server) forget(part.request);
}

/// Reads the rows of a request, in any order of servers, but sequentially for each server. Waits for messages
/// as needed, and releases each message once it is read.
class Client::RowsThatCome {
  public:
    RowsThatCome(Client& client, const RowRequest& asked)
        : client_(&client),
          asked_(&asked),
          width_(client.options_.widths[asked.table]),
          max_(client.message_rows(asked.table)),
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

    /// The remaining rows of the current message, or those of the next one.
    std::span<const float> next_of_message(std::size_t server) {
        auto& rest = parts_[server].rest;
        if (rest.empty()) open(server);
        return std::exchange(rest, {});
    }

  private:
    struct Part {
        std::uint64_t request = 0;
        std::size_t messages = 0;
        std::span<const float> rest;
    };

    void open(std::size_t server) {
        auto& part = parts_[server];
        if (part.request != 0) client_->forget(std::exchange(part.request, 0));
        const auto before = part.messages++;
        const auto& [request, place] = asked_->parts[server].at(before);
        MessageReader reader(client_->wait_for(request, "pull").bytes());
        part.request = request;
        auto section = reader.next();
        for (std::size_t i = 0; section && i < place; ++i) section = reader.next();
        if (!section) throw ServerError(static_cast<int>(server), "answered without values");
        part.rest = section->floats(std::min(max_, asked_->counts[server] - before * max_) * width_);
    }

    Client* client_;
    const RowRequest* asked_;
    std::size_t width_;
    std::size_t max_;
    std::vector<Part> parts_;
};

void Client::take_rows(const RowRequest& asked, std::span<float> out) {
    const auto width = options_.widths[asked.table];
    const auto server_of = [&](std::size_t place) {
        return asked.servers.empty() ? 0 : asked.servers[place];
    };
    RowsThatCome rows(*this, asked);
    if (!asked.places.empty()) {
        std::vector<std::size_t> firsts;  // index in `out` of the first row of each distinct id
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
            const auto some = rows.next_of_message(0);
            std::ranges::copy(some, rest.begin());
            rest = rest.subspan(some.size());
        }
    }
}

void Client::drop_old_prefetches() {
    std::erase_if(prefetched_, [this](const RowRequest& asked) {
        const bool is_old = asked.step < steps_;
        if (is_old) drop_rows(asked);
        return is_old;
    });
}

std::optional<Client::RowRequest> Client::prefetched(const WantedRows& wanted) {
    if (wanted.reads_only) return std::nullopt;
    const auto found = std::ranges::find_if(prefetched_, [&](const RowRequest& asked) {
        return asked.table == wanted.table && asked.step == steps_ &&
               std::ranges::equal(asked.ids, wanted.ids);
    });
    if (found == prefetched_.end()) return std::nullopt;
    auto asked = std::move(*found);
    prefetched_.erase(found);
    return asked;
}

std::vector<Client::RowRequest> Client::ask_rows(std::span<const WantedRows> wanted) {
    drop_old_prefetches();
    PullMessages messages(*this, steps_);
    std::vector<RowRequest> asked;
    for (const auto& each : wanted) {
        auto early = prefetched(each);
        asked.push_back(early ? std::move(*early) : ask_rows(each, messages));
    }
    messages.send_all();
    return asked;
}

void Client::pull_rows(const WantedRows& wanted, std::span<float> out) {
    take_rows(ask_rows({&wanted, 1}).front(), out);
}

void Client::prefetch_rows(std::span<const WantedRows> wanted) {
    drop_old_prefetches();
    PullMessages messages(*this, steps_ + 1);
    for (const auto& each : wanted) {
        auto& asked = prefetched_.emplace_back(ask_rows(each, messages));
        asked.ids.assign(each.ids.begin(), each.ids.end());
    }
    messages.send_all();
}

}  // namespace dtrain::ps
