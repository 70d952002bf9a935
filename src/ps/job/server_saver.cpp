// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_saver.hpp"

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "ps/job/saved_dense.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

constexpr std::string_view unfinished = ".tmp-";  // before the name of a checkpoint

SaveOrder order_from(const std::string& text) {
    const auto order = read_json(
        text, [](const json& value) { return SaveOrder{.folder = value.at("folder").get<std::string>()}; });
    if (!order) throw UsageError("this is no order to save: '" + text + "'");
    return *order;
}

/// What people call it when it is complete.
std::string name_of(const std::filesystem::path& folder) {
    auto name = folder.filename().string();
    if (name.starts_with(unfinished)) name.erase(0, unfinished.size());
    return name;
}

}  // namespace

std::string to_text(const SaveOrder& order) {
    return json{{"folder", order.folder.string()}}.dump();
}

ServerSaver::ServerSaver(const ServerPlan& plan, Server& server, const SaveMemory& memory)
    : plan_(plan), server_(server) {
    for (auto& table : server.tables()) tables_.emplace_back(table, plan.share, std::nullopt, memory);
}

void ServerSaver::begin(const std::string& request) {
    const auto order = order_from(request);
    try {
        begin(order);
    } catch (...) {
        abandon();
        throw;
    }
}

void ServerSaver::begin(const SaveOrder& order) {
    auto& save = save_.emplace();
    save.steps = server_.steps();
    for (auto& table : tables_)
        table.begin({.folder = order.folder, .checkpoint = name_of(order.folder), .step = save.steps});
    save.dense = std::async(std::launch::async, [copy = DenseCopy(plan_, server_), folder = order.folder] {
        return copy.write(folder);
    });
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
           std::ranges::all_of(tables_, &TableSaver::is_written) &&
           save_->dense.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::string ServerSaver::finish() {
    try {
        json tables = json::array();
        for (auto& table : tables_) tables.push_back(json::parse(to_json(table.finish())));
        auto dense = json::parse(save_.value().dense.get());
        const json facts{{"steps", save_->steps}, {"dense", std::move(dense)}, {"tables", std::move(tables)}};
        for (auto& table : tables_) table.commit();
        save_.reset();
        return facts.dump();
    } catch (...) {
        abandon();
        throw;
    }
}

}  // namespace dtrain::ps
