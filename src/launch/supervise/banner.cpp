// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/supervise/banner.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/redact.hpp"
#include "base/text.hpp"
#include "identity/address.hpp"
#include "identity/endpoint_list.hpp"
#include "launch/options/option_table.hpp"

namespace dtrain::launch {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t name_width = 40;
constexpr std::size_t value_width = 45;
constexpr std::size_t gap = 2;
constexpr std::size_t kept_of_long_values = 41;

/// A list as Python prints it: readers of the banner parse it.
std::string python_list(const std::vector<std::string>& args) {
    std::vector<std::string> quoted;
    for (const auto& arg : args) quoted.push_back("'" + arg + "'");
    return "[" + join(quoted, ", ") + "]";
}

std::vector<TableRow> rows_of_trainer(const Plan& plan) {
    const auto& first = plan.nodes[static_cast<std::size_t>(plan.own_node.value_or(0))].ranks.front();
    std::vector<TableRow> rows{{"PADDLE_CURRENT_ENDPOINT", first.endpoint},
                               {"PADDLE_TRAINERS_NUM", std::to_string(plan.size())}};
    if (!first.assignment.devices.empty())
        rows.push_back({"FLAGS_selected_gpus", fmt::format("{}", fmt::join(first.assignment.devices, ","))});
    rows.push_back({"PADDLE_TRAINER_ENDPOINTS", join(plan.endpoints.trainers, ",")});
    rows.push_back({"PADDLE_TRAINER_ID", std::to_string(first.rank)});
    return rows;
}

std::vector<TableRow> rows_of_member(const cluster::ServerJob& job, const RankPlan& first) {
    const bool server = first.role == cluster::Role::server;
    const auto address = cluster::parse_address(first.endpoint);
    std::vector<TableRow> rows{{"PADDLE_PSERVERS_IP_PORT_LIST", join(job.servers, ",")},
                               {"PADDLE_TRAINER_ENDPOINTS", join(job.workers, ",")},
                               {"PADDLE_PORT", std::to_string(address.port.value_or(0))},
                               {"TRAINING_ROLE", server                                      ? "PSERVER"
                                                 : first.role == cluster::Role::heter_worker ? "HETER_TRAINER"
                                                                                             : "TRAINER"},
                               {"PADDLE_TRAINERS_NUM", std::to_string(job.workers.size())},
                               {"POD_IP", address.host}};
    if (first.role == cluster::Role::worker) rows.push_back({"PADDLE_TRAINER_ID", "0"});
    if (!first.gpus.empty()) rows.push_back({"CUDA_VISIBLE_DEVICES", join(first.gpus, ",")});
    rows.push_back({"PADDLE_GLOO_HTTP_ENDPOINT", job.gloo_endpoint});
    return rows;
}

}  // namespace

std::string configuration_banner(const Options& options, const Plan& plan) {
    const auto& gpus = plan.nodes.front().cuda_visible_devices;
    // The options in Paddle's documents are always shown, the others only if they were given.
    constexpr std::array always{"gpus"sv,    "ips"sv,        "log_dir"sv, "server_num"sv,
                                "servers"sv, "worker_num"sv, "workers"sv};
    const Options defaults;
    std::map<std::string, std::string> lines{
        {"training_script", options.script},
        {"training_script_args", python_list(redacted_arguments(options.script_arguments))}};
    for (const auto& row : option_table()) {
        const auto value = value_text(options, row);
        const bool shown = std::find(always.begin(), always.end(), row.name) != always.end();
        if (shown || value != value_text(defaults, row)) lines[std::string(row.name)] = value;
    }
    lines["gpus"] = gpus.empty() ? "None" : gpus;
    if (plan.nodes.size() > 1) lines["ips"] = join(plan.hosts(), ",");
    std::string out = "-----------  Configuration Arguments -----------\n";
    for (const auto& [name, value] : lines)
        out += value.empty() ? fmt::format("{}:\n", name) : fmt::format("{}: {}\n", name, value);
    return out + std::string(48, '-') + "\n";
}

std::string distributed_envs_table(const std::vector<TableRow>& rows) {
    const auto rule = [](char letter) { return std::string(name_width + gap + value_width, letter) + "\n"; };
    std::string out = rule('=');
    out += fmt::format("{:^{}}{:{}}Value\n", "Distributed Envs", name_width, "", gap);
    out += rule('-');
    for (const auto& row : rows) {
        const auto value = row.value.size() < value_width
                               ? row.value
                               : "... " + row.value.substr(row.value.size() - kept_of_long_values);
        out += fmt::format("{:<{}}{:{}}{}\n", row.name, name_width, "", gap, value);
    }
    return out + rule('=');
}

std::vector<Greeting> greetings(const Plan& plan) {
    constexpr std::string_view after =
        " processes. First process distributed environment info (Only For Debug):";
    std::vector<Greeting> out;
    if (!plan.servers) {
        const auto own = plan.nodes[static_cast<std::size_t>(plan.own_node.value_or(0))].ranks.size();
        return {{.line = fmt::format("Local start {}{}", own, after), .rows = rows_of_trainer(plan)}};
    }
    const auto ranks = plan.ranks();
    for (const auto role : {cluster::Role::server, cluster::Role::worker, cluster::Role::heter_worker}) {
        const auto count = std::count_if(ranks.begin(), ranks.end(),
                                         [role](const RankPlan* rank) { return rank->role == role; });
        const auto first = std::find_if(ranks.begin(), ranks.end(),
                                        [role](const RankPlan* rank) { return rank->role == role; });
        if (count != 0)
            out.push_back({.line = fmt::format("Local {} start {}{}", cluster::to_string(role), count, after),
                           .rows = rows_of_member(*plan.servers, **first)});
    }
    return out;
}

std::string where_logs_are(const Plan& plan, const std::string& log_dir) {
    return plan.servers ? fmt::format(
                              "Please check servers, workers and heter_worker logs in {0}/workerlog.*, "
                              "{0}/serverlog.* and {0}/heterlog.*",
                              log_dir)
                        : fmt::format(
                              "details about PADDLE_TRAINER_ENDPOINTS can be found in {0}/endpoints.log, and "
                              "detail running logs in {0}/workerlog.0",
                              log_dir);
}

std::string endpoints_log(const Plan& plan) {
    return cluster::endpoints_file(plan.endpoints.trainers);
}

}  // namespace dtrain::launch
