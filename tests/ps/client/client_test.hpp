// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ps/client/client.hpp"
#include "ps/client/pumped_transport.hpp"
#include "ps/small_server.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {

/// A client, and servers in this process that work when it looks for messages, unless the test holds them up.
/// Their parameters, and the rows of their tables, are minus the sum of all gradients.
class ClientTest : public testing::Test {
  protected:
    Client& start(ServerMode mode, int servers = 1, std::optional<std::uint64_t> dict_size = std::nullopt) {
        return start(mode, servers, TableOptions{.dict_size = dict_size});
    }

    Client& start(ServerMode mode, int servers, const TableOptions& table) {
        transports_ = comm::local_transports(servers + 1, max_message_bytes_);
        ClientOptions options{.mode = mode};
        options.most_merged = most_merged_;
        options.message_rows = message_rows_;
        options.deadline = deadline_;
        for (int server = 0; server < servers; ++server) {
            servers_.push_back(std::make_unique<Server>(ServerOptions{.mode = mode, .trainers = {servers}},
                                                        two_zeros(1), tables(table),
                                                        *transports_[static_cast<std::size_t>(server)]));
            options.servers.push_back(server);
            options.layouts.emplace_back();
            options.dense.push_back(2);
        }
        options.widths.assign(tables_, 1);
        options.with_statistics.assign(tables_, table.statistics.has_value());
        if (table.dict_size) options.limits = {TableLimit{"t", *table.dict_size}};
        pumped_ = std::make_unique<Pumped>(*transports_.back(), [this] { pump(); });
        client_ = std::make_unique<Client>(options, between_ ? between_(*pumped_) : *pumped_);
        client_->join();
        return *client_;
    }

    std::vector<ServerTable> tables(const TableOptions& each) const {
        std::vector<ServerTable> all;
        while (all.size() < tables_) all.push_back(std::move(one_table(each).front()));
        return all;
    }

    void pump() {
        ++looks_;
        for (std::size_t server = 0; server < servers_.size(); ++server)
            while (!are_held_up_ && looks_ % lookups_per_message_.at(server) == 0) {
                auto message = transports_[server]->receive();
                if (!message) break;
                take_and_answer(*servers_[server], std::move(*message));
                if (behind_message_) behind_message_(server);
                if (lookups_per_message_.at(server) > 1) break;
            }
        if (!do_save_) return;
        for (auto& server : servers_) server->go_on_with_save();
    }

    void step(float gradient) {
        const std::vector<float> two{gradient, 10 * gradient};
        client_->push_dense(0, 0, two);
        client_->push_rows(0, std::vector<std::int64_t>{5, 6, 5}, std::vector<float>(3, gradient), true);
        client_->end_step();
        client_->drop_dense_values();
    }

    std::vector<float> rows(const std::vector<std::int64_t>& ids, bool reads_only = false) {
        std::vector<float> out(ids.size(), 77);
        client_->pull_rows({0, ids, reads_only}, out);
        return out;
    }

    void prefetch(const std::vector<std::int64_t>& ids) {
        client_->prefetch_rows(std::vector<WantedRows>{{0, ids}});
    }

    std::vector<float> dense() {
        client_->pull_dense();
        const auto values = client_->dense_values(0);
        const std::vector<float> copy(values.begin(), values.end());
        client_->drop_dense_values();
        return copy;
    }

    std::vector<std::unique_ptr<comm::Transport>> transports_;
    std::vector<std::unique_ptr<Server>> servers_;
    std::unique_ptr<Pumped> pumped_;
    std::unique_ptr<Client> client_;
    std::size_t max_message_bytes_ = comm::max_message_bytes;
    int most_merged_ = 20;
    std::size_t message_rows_ = 0;
    std::size_t tables_ = 1;
    std::chrono::seconds deadline_{0};
    bool are_held_up_ = false;
    std::array<int, 3> lookups_per_message_{1, 1, 1};  // of servers; more: slow
    int looks_ = 0;
    bool do_save_ = false;  // between messages
    std::function<void(std::size_t server)> behind_message_;
    std::function<comm::Transport&(comm::Transport&)> between_;  // the client's messages, if set
};

/// So many ids of a server, the first ones from `first` on.
inline std::vector<std::int64_t> ids_on(std::uint32_t server, std::uint32_t servers, std::size_t count,
                                        std::int64_t first = 0) {
    std::vector<std::int64_t> ids;
    for (auto id = first; ids.size() < count; ++id)
        if (server_of(id, servers) == server) ids.push_back(id);
    return ids;
}

inline constexpr auto each_mode = {ServerMode::sync, ServerMode::async, ServerMode::half_async,
                                   ServerMode::geo};

}  // namespace dtrain::ps
