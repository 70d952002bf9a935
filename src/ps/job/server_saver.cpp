// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_saver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "ps/job/saved_dense.hpp"
#include "storage/checkpoint_directory.hpp"
#include "storage/hdf5_file.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

SaveOrder order_from(const std::string& text) {
    const auto order = read_json(text, [](const json& value) {
        SaveOrder out{.folder = value.at("folder").get<std::string>(),
                      .changes_follow = value.at("changes_follow").get<bool>()};
        if (const auto& since = value.at("since"); !since.is_null()) out.since = since.get<std::string>();
        return out;
    });
    if (!order) throw UsageError("this is no order to save: '" + text + "'");
    return *order;
}

}  // namespace

std::string to_text(const SaveOrder& order) {
    return dumped({{"folder", order.folder.string()},
                   {"since", order.since ? json(*order.since) : json()},
                   {"changes_follow", order.changes_follow}});
}

ServerSaver::ServerSaver(const ServerPlan& plan, Server& server, const SaveMemory& memory)
    : plan_(plan), server_(server) {
    storage::start_hdf5();
    for (auto& table : server.tables()) tables_.emplace_back(table, plan.shard, std::nullopt, memory);
}

void ServerSaver::begin(const std::string& request) {
    const auto order = order_from(request);
    settle(order.since);
    try {
        begin(order);
    } catch (...) {
        abandon();
        throw;
    }
}

void ServerSaver::settle(const std::optional<std::string>& completed) {
    const auto written = std::exchange(written_, std::nullopt);
    if (written && written == completed) {
        for (auto& table : tables_) table.commit();
        base_ = written;
    } else {
        for (auto& table : tables_) table.abandon();
    }
    if (completed && completed != base_)
        throw Error(fmt::format("what changed since '{}' is not known here, {}", *completed,
                                base_ ? fmt::format("but what changed since '{}' is", *base_)
                                      : std::string("nor since any other save")));
}

void ServerSaver::begin(const SaveOrder& order) {
    auto& save = save_.emplace();
    save.order = order;
    save.steps = server_.steps();
    if (order.changes_follow)
        for (auto& table : server_.tables()) table.track_changes();
    const auto which = order.since ? WhichRows::changed : WhichRows::all;
    for (auto& table : tables_)
        table.begin({.folder = order.folder,
                     .checkpoint = storage::checkpoint_name(order.folder),
                     .which = which,
                     .step = save.steps});
    save.dense = Background<std::string>::in_thread(
        [copy = DenseCopy(plan_, server_), folder = order.folder] { return copy.write(folder); });
}

void ServerSaver::abandon() {
    save_.reset();
    for (auto& table : tables_) table.abandon();
}

bool ServerSaver::step() {
    for (auto& next = save_.value().next_table; next < tables_.size(); ++next) {
        const auto progress = tables_[next].step();
        if (progress != TableSaver::Progress::taken) return progress == TableSaver::Progress::working;
    }
    return false;
}

bool ServerSaver::is_written() const {
    return save_ && save_->next_table == tables_.size() &&
           std::ranges::all_of(tables_, &TableSaver::is_written) && save_->dense.is_ready();
}

std::string ServerSaver::finish() {
    try {
        json tables = json::array();
        for (auto& table : tables_) tables.push_back(json::parse(to_json(table.finish())));
        auto dense = json::parse(save_.value().dense.get());
        const json info{{"steps", save_->steps}, {"dense", std::move(dense)}, {"tables", std::move(tables)}};
        if (save_->order.changes_follow) {
            written_ = storage::checkpoint_name(save_->order.folder);
        } else {
            for (auto& table : tables_) table.commit();
            base_.reset();
        }
        save_.reset();
        return info.dump();
    } catch (...) {
        abandon();
        throw;
    }
}

}  // namespace dtrain::ps
