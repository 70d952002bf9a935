// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>

#include "ps/job/server_checkpoint.hpp"
#include "ps/job/server_manifest.hpp"
#include "ps/job/server_saver.hpp"
#include "ps/small_server.hpp"
#include "ps/table/id_hash.hpp"

/// Servers of a small model, in this process, to which a test writes messages.
namespace dtrain::tests {

inline Program small_model() {
    Program program;
    const auto ids = layers::data(program, "ids", {4}, DataType::int64);
    const auto user = layers::embedding(program, ids, 1'000'000, 3,
                                        {.is_sparse = true, .is_distributed = true, .name = "user"});
    const auto item = layers::embedding(program, ids, 1'000'000, 5,
                                        {.is_sparse = true, .is_distributed = true, .name = "item"});
    const auto hidden = layers::fc(program, layers::concat(program, {user, item}, 1), 7, {.name = "fc"});
    minimize(program, layers::reduce_sum(program, hidden), Adam{0.01});
    return program;
}

/// Server `number` of so many, in async mode with one trainer, which is rank 1 here.
class SavingServer {
  public:
    explicit SavingServer(std::uint32_t number = 0, std::uint32_t servers = 1,
                          const Device& device = Device::cpu())
        : plan_(planned(number, servers, device)) {
        start(ps::first_parts(plan_));
    }

    const ps::ServerPlan& plan() const { return plan_; }
    ps::Server& server() { return *server_; }

    /// Goes on from what was saved.
    void load(const std::filesystem::path& folder) { start(ps::load_parts(plan_, folder)); }

    /// A step with random gradients of the dense part and of rows of both tables.
    void push(std::mt19937& dice) {
        ps::MessageWriter message(*transports_[1], {.kind = ps::MessageKind::push, .steps = 1});
        for (auto& value : message.add_dense(0, server_->dense().size())) value = random_value(dice);
        for (std::uint32_t table = 0; table < 2; ++table) {
            const auto width = server_->tables()[table].width();
            const auto count = 1 + dice() % 50;
            const auto rows = message.add_rows(table, count, width);
            for (auto& id : rows.ids) id = own_id(dice);
            for (auto& value : rows.values) value = random_value(dice);
        }
        send(std::move(message));
    }

    void push(int times, std::mt19937& dice) {
        while (times-- > 0) push(dice);
    }

    void ask_to_save(const std::string& request) {
        ps::MessageWriter message(*transports_[1], {.kind = ps::MessageKind::save, .request = 77});
        message.add_text(request);
        send(std::move(message));
    }

    /// A save while nothing else happens. @returns what the server says
    std::string save(const ps::SaveOrder& order) {
        std::filesystem::create_directories(order.folder);
        ask_to_save(ps::to_text(order));
        return finish_save();
    }

    /// What it says in the end of a save in progress.
    std::string finish_save() {
        std::string answer;
        while (!(answer = next_answer()).starts_with("saved") && !answer.starts_with("failed"))
            server_->go_on_with_save();
        return answer;
    }

    /// The next answer but those to pushes: "saving", "saved INFO", "failed WHY"; "" when there is none.
    std::string next_answer() {
        while (const auto answer = transports_[1]->receive()) {
            const ps::MessageReader reader(answer->content.bytes());
            const auto kind = reader.header().kind;
            if (kind == ps::MessageKind::applied) continue;
            std::string text(to_string(kind));
            if (kind == ps::MessageKind::saved || kind == ps::MessageKind::failed)
                text.append(" ").append(reader.text());
            return text;
        }
        return "";
    }

  private:
    static constexpr ps::SaveMemory small_blocks{.block_bytes = 4096, .blocks = 2, .max_blocks = 4};

    static ps::ServerPlan planned(std::uint32_t number, std::uint32_t servers, const Device& device) {
        DistributeTranspiler transpiler;
        std::string pservers = "a:1";
        for (std::uint32_t i = 1; i < servers; ++i) pservers += ",a:" + std::to_string(i + 1);
        transpiler.transpile(small_model(), {.pservers = pservers, .sync_mode = false});
        return ps::plan_server(transpiler,
                               {.mode = ServerMode::async, .seed = 3, .threads = 1, .device = device},
                               {number, servers}, 1);
    }

    void start(ps::ServerParts parts) {
        transports_ = comm::local_transports(2);
        server_.emplace(
            ps::ServerOptions{.mode = ServerMode::async, .trainers = {1}, .first_step = parts.steps},
            std::move(parts.dense), std::move(parts.tables), *transports_[0]);
        server_->save_by(std::make_unique<ps::ServerSaver>(plan_, *server_, small_blocks));
        ps::MessageWriter join(*transports_[1], {.kind = ps::MessageKind::join});
        join.add_text("");
        send(std::move(join));
        transports_[1]->receive();
    }

    void send(ps::MessageWriter&& message) {
        message.send(0);
        while (auto each = transports_[0]->receive()) take_and_answer(*server_, std::move(*each));
    }

    static float random_value(std::mt19937& dice) { return static_cast<float>(dice() % 200) / 100 - 1; }

    std::int64_t own_id(std::mt19937& dice) const {
        while (true)
            if (const auto id = static_cast<std::int64_t>(dice() % 3000);
                ps::server_of(id, plan_.shard.servers) == plan_.shard.server)
                return id;
    }

    ps::ServerPlan plan_;
    std::vector<std::unique_ptr<comm::Transport>> transports_;
    std::optional<ps::Server> server_;
};

/// All that later steps depend on.
struct ServerContent {
    std::map<std::string, std::string> dense;
    std::vector<std::map<std::int64_t, std::string>> tables;
    std::int64_t steps = 0;
    friend bool operator==(const ServerContent&, const ServerContent&) = default;
};

inline std::string bytes_of_floats(std::span<const float> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

inline ServerContent content(const ps::DensePart& dense, std::int64_t steps) {
    ServerContent out{.dense = {}, .tables = {}, .steps = steps};
    for (const auto& tensor : dense.state().tensors())
        out.dense[tensor.name] = {static_cast<const char*>(tensor.view.data), tensor.view.bytes()};
    return out;
}

inline void add(ServerContent& content, const ps::SparseTable& table) {
    auto& rows = content.tables.emplace_back();
    table.for_each([&](const ps::TableRow& row) {
        rows[row.id] = bytes_of_floats(row.weights) + bytes_of_floats(row.state);
    });
}

inline ServerContent content(const ps::Server& server) {
    auto out = content(server.dense(), server.steps());
    for (const auto& table : server.tables()) add(out, table);
    return out;
}

/// What one of any number of servers reads of a checkpoint.
inline ServerContent loaded(const ps::ServerPlan& plan, const std::filesystem::path& folder) {
    const auto parts = ps::load_parts(plan, folder);
    auto out = content(parts.dense, parts.steps);
    for (const auto& table : parts.tables) add(out, table.table);
    return out;
}

}  // namespace dtrain::tests
