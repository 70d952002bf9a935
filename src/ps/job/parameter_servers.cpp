// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dtrain/environment.hpp>
#include <dtrain/parameter_servers.hpp>

#include "base/host.hpp"
#include "comm/failure/deadline.hpp"
#include "comm/message/transport.hpp"
#include "ps/client/client.hpp"
#include "ps/client/executor_link.hpp"
#include "ps/client/geo_link.hpp"
#include "ps/job/counts.hpp"
#include "ps/job/layout.hpp"
#include "ps/job/own_processor_count.hpp"
#include "ps/job/server_checkpoint.hpp"
#include "ps/job/server_device.hpp"
#include "ps/job/server_manifest.hpp"
#include "ps/job/server_saver.hpp"
#include "ps/metrics/metrics_output.hpp"
#include "ps/server/failure_line.hpp"
#include "ps/server/serve.hpp"
#include "ps/wire/short_transport.hpp"

namespace dtrain {
namespace {

int checked_rank(const Communicator& world, int servers) {
    if (servers < 1 || servers >= world.size())
        throw UsageError(
            fmt::format("{} parameter servers in a job of {} ranks; there must be one at least, "
                        "and one rank that trains",
                        servers, world.size()));
    return world.rank();
}

std::vector<int> ranks_from(int first, int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

std::size_t floats_of(const std::vector<VariableBlock>& blocks) {
    std::size_t floats = 0;
    for (const auto& block : blocks) floats += static_cast<std::size_t>(element_count(block.shape));
    return floats;
}

std::shared_ptr<ps::TrainerLink> link_of(const DistributeTranspiler& transpiler, ServerMode mode,
                                         ps::Client& client) {
    std::vector<std::string> tables;
    for (const auto& table : transpiler.tables()) tables.push_back(table.parameter);
    ps::ParameterParts parts(transpiler.placements(), std::move(tables));
    if (mode != ServerMode::geo) return std::make_shared<ps::ExecutorLink>(std::move(parts), client);
    std::vector<ps::LocalRows> rows;
    for (const auto& table : transpiler.local_tables())
        rows.emplace_back(static_cast<std::size_t>(table.width), table.optimizer, table.regularisation);
    return std::make_shared<ps::GeoLink>(std::move(parts), std::move(rows), transpiler.trainers(), client);
}

}  // namespace

struct ServerRanks::Transport {
    std::shared_ptr<comm::Transport> messages;
};

ServerRanks::ServerRanks(const Communicator& world, int servers)
    : world_rank_(checked_rank(world, servers)),
      world_size_(world.size()),
      servers_(servers),
      processors_(ps::own_processor_count(world)),
      peers_(world.split(world.rank() < servers ? 0 : 1, world.rank())),
      transport_(new Transport{comm::open_transport(world)}) {
    auto names = world.all_gather(fmt::format("{}:{}", host_name(), world.rank() + 1));
    names.resize(static_cast<std::size_t>(servers));
    pservers_ = fmt::format("{}", fmt::join(names, ","));
}

struct ParameterServer::Content {
    std::shared_ptr<comm::Transport> transport;
    ps::ServerPlan plan;
    ps::ServerOptions options;
    std::chrono::seconds deadline;
    std::optional<ps::MetricsOutput> metrics;
    ps::ServerParts parts;
    Communicator servers;
};

ParameterServer::ParameterServer(const ServerRanks& ranks, const DistributeTranspiler& transpiler,
                                 const ServerJobOptions& options) {
    if (!ranks.serves()) throw UsageError("a ParameterServer is for servers, and this rank trains");
    ps::check(options, transpiler);
    const ps::ServerShard shard{static_cast<std::uint32_t>(ranks.number()),
                                static_cast<std::uint32_t>(ranks.servers())};
    auto with_folder = options;
    if (options.spill.empty()) with_folder.spill = Environment::of_this_process().get_or("TMPDIR", "/tmp");
    auto plan = ps::plan_server(transpiler, with_folder, shard, ranks.trainers());
    plan.device = ps::server_device(plan, ranks, Environment::of_this_process());
    auto parts = ps::first_parts(plan);
    content_.reset(new Content{ps::with_wire_type(ranks.transport_->messages, options.wire),
                               std::move(plan),
                               {.mode = options.mode,
                                .staleness = options.staleness,
                                .trainers = ranks_from(ranks.servers(), ranks.trainers()),
                                .layout = ps::layout_text(transpiler, options, shard.server),
                                .table_threads = ps::table_threads(options.table_threads, ranks.processors()),
                                .reject_not_finite = options.reject_not_finite},
                               comm::deadline_of(Environment::of_this_process()),
                               std::nullopt,
                               std::move(parts),
                               ranks.peers()});
    if (options.metrics) content_->metrics.emplace(*options.metrics, ranks.number());
}

ParameterServer::ParameterServer(ParameterServer&&) noexcept = default;
ParameterServer& ParameterServer::operator=(ParameterServer&&) noexcept = default;
ParameterServer::~ParameterServer() = default;

void ParameterServer::load(const std::filesystem::path& folder) {
    content_->parts = ps::load_parts(content_->plan, folder);
}

void ParameterServer::check_rows() const {
    for (const auto& [table, learning_rate] : content_->parts.tables) {
        const auto rows =
            static_cast<std::uint64_t>(content_->servers.sum(static_cast<std::int64_t>(table.size())));
        const auto& options = table.options();
        if (options.dict_size && rows > *options.dict_size)
            throw ps::DictSizeError(options.name, *options.dict_size, ps::RowCount{rows});
    }
}

void ParameterServer::run() {
    auto& [transport, plan, options, deadline, metrics, parts, servers] = *content_;
    ps::FailureLine failure(plan.shard.server, Environment::of_this_process());
    options.first_step = parts.steps;
    ps::Server server(options, std::move(parts.dense), std::move(parts.tables), *transport);
    server.save_by(std::make_unique<ps::ServerSaver>(plan, server));
    server.on_count([&] { return ps::to_text(ps::counts_of(server)); });
    server.on_failure([&](std::string_view why) { failure.report(why); });
    try {
        ps::serve(server, *transport, [&] {
            server.give_up_after(deadline);
            server.end_when_abandoned();
            if (metrics) metrics->write_in_time(server);
        });
    } catch (const std::exception& failed) {
        failure.report(failed.what());
        server.report_end(failed.what());
        transport->deliver_within(std::chrono::seconds(1));
        throw;
    }
    if (metrics) metrics->write(server);
}

void serve(const ServerRanks& ranks, const DistributeTranspiler& transpiler,
           const ServerJobOptions& options) {
    ParameterServer(ranks, transpiler, options).run();
}

struct ServerConnection::Content {
    ServerMode mode;
    std::shared_ptr<comm::Transport> transport;
    ps::Client client;
    std::shared_ptr<ps::TrainerLink> link;
    struct Save {
        std::filesystem::path folder;
        std::vector<std::string> needs;
    };
    Save save = {};  ///< the save in progress
    bool has_left = false;

    ~Content() {
        if (!has_left) client.abandon();
    }
};

ServerConnection::ServerConnection(const ServerRanks& ranks, const DistributeTranspiler& transpiler,
                                   const ServerJobOptions& options) {
    if (ranks.serves()) throw UsageError("a ServerConnection is for trainers, and this rank serves");
    ps::check(options, transpiler);
    ps::ClientOptions client{.mode = options.mode,
                             .servers = ranks_from(0, ranks.servers()),
                             .layouts = {},
                             .dense = {},
                             .widths = {},
                             .with_statistics = {},
                             .limits = {},
                             .most_merged = options.most_merged,
                             .deadline = comm::deadline_of(Environment::of_this_process()),
                             .message_rows = static_cast<std::size_t>(options.message_rows)};
    for (std::size_t server = 0; server < client.servers.size(); ++server) {
        client.layouts.push_back(ps::layout_text(transpiler, options, server));
        client.dense.push_back(floats_of(ps::blocks_on(transpiler, server)));
    }
    for (const auto& table : transpiler.tables()) {
        client.widths.push_back(static_cast<std::size_t>(table.width));
        const auto table_options = ps::table_options(table, options);
        client.with_statistics.push_back(table_options.statistics.has_value());
        auto& limit = client.limits.emplace_back();
        if (const auto dict_size = table_options.dict_size) limit = {table_options.name, *dict_size};
    }
    const auto transport = ps::with_wire_type(ranks.transport_->messages, options.wire);
    content_.reset(new Content{options.mode, transport, ps::Client(client, *transport), nullptr});
    content_->link = link_of(transpiler, options.mode, content_->client);
    content_->client.join();
}

ServerConnection::~ServerConnection() = default;

ServerMode ServerConnection::mode() const {
    return content_->mode;
}

std::shared_ptr<detail::ServerLink> ServerConnection::link() const {
    return content_->link;
}

void ServerConnection::pull_parameters(const State& state) const {
    content_->link->pull_parameters(state);
}

void ServerConnection::prefetch(const std::string& table, std::span<const std::int64_t> ids) const {
    const Lookup lookup{table, ids};
    prefetch({&lookup, 1});
}

void ServerConnection::prefetch(std::span<const Lookup> lookups) const {
    content_->link->prefetch(lookups);
}

void ServerConnection::skip_step(const State& state) const {
    if (content_->client.pass_step()) content_->link->pull_parameters(state);
}

void ServerConnection::finish() const {
    content_->link->finish();
}

void ServerConnection::begin_save(const std::filesystem::path& folder, const SavedRows& rows) const {
    const auto& since = rows.since;
    content_->client.begin_save(ps::to_text(
        {folder, since.empty() ? std::nullopt : std::optional(since.back()), rows.changes_follow}));
    content_->save = {folder, since};
}

bool ServerConnection::is_saved() const {
    return content_->client.is_saved();
}

std::function<void()> ServerConnection::finish_save() const {
    return [servers = content_->client.finish_save(), save = content_->save] {
        ps::write_manifest(save.folder, servers, save.needs);
    };
}

void ServerConnection::save(const std::filesystem::path& folder) const {
    begin_save(folder);
    finish_save()();
}

std::uint64_t ServerConnection::begin_day(std::uint32_t day, bool shrinks) const {
    return content_->client.begin_day(day, shrinks);
}

Checkpoint ServerConnection::trainer_rows() const {
    Checkpoint rows;
    content_->link->store_rows(rows);
    return rows;
}

void ServerConnection::restore_trainer_rows(const Checkpoint& rows) const {
    content_->link->restore_rows(rows);
}

ServerCounts ServerConnection::counts() const {
    return ps::sum_of(content_->client.counts());
}

void ServerConnection::leave() {
    content_->link->finish();
    content_->client.leave();
    content_->has_left = true;
}

}  // namespace dtrain
