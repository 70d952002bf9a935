// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/redact.hpp"
#include "base/shell_args.hpp"
#include "base/text.hpp"
#include "launch/backend/registry.hpp"
#include "launch/plan/plan.hpp"

namespace dtrain::launch {
namespace {

std::string or_dash(std::string text) {
    return text.empty() ? "-" : text;
}

std::string numbers(const std::vector<int>& list) {
    return fmt::format("{}", fmt::join(list, ","));
}

}  // namespace

std::string to_table(const Plan& plan, const std::vector<std::string>& command) {
    std::vector<std::vector<std::string>> rows{{"rank", "role", "node", "local rank", "GPU", "cores",
                                                "memory", "threads", "network", "endpoint", "why"}};
    for (const auto& node : plan.nodes)
        for (const auto& rank : node.ranks)
            rows.push_back(
                {std::to_string(rank.rank), fmt::format("{} {}", cluster::to_string(rank.role), rank.index),
                 node.host, std::to_string(rank.local_rank), or_dash(join(rank.gpus, ",")),
                 or_dash(rank.assignment.cpus.to_string()) + (rank.assignment.shared ? " (shared)" : ""),
                 or_dash(numbers(rank.assignment.numa_nodes)), std::to_string(rank.assignment.threads),
                 or_dash(rank.assignment.adapter), rank.endpoint, rank.reason});
    if (!plan.servers)
        for (auto& row : rows) row.erase(row.begin() + 1);  // no role column: all ranks are trainers
    std::vector<std::size_t> widths(rows[0].size());
    for (const auto& row : rows)
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column)
            line += fmt::format("{:<{}}  ", row[column], widths[column]);
        out += std::string(trimmed(line)) + "\n";
    }
    out += fmt::format(
        "\nlogs       {}/{}\nmaster     {} (PADDLE_MASTER), {}:{} (MASTER_ADDR, MASTER_PORT)\n", plan.log_dir,
        plan.servers ? "serverlog.<n>, workerlog.<n>, heterlog.<n>" : "workerlog.<rank>",
        plan.endpoints.paddle_master, plan.endpoints.master_addr, plan.endpoints.master_port);
    const auto hostfile = split(trimmed(hostfile_text(plan)), '\n');
    out += fmt::format("hostfile   {}/hostfile: {}\n", plan.log_dir, join(hostfile, "; "));
    out += fmt::format("program    {}\ncommand    {}\n", shell_line(redacted_arguments(plan.program)),
                       shell_line(redacted_arguments(command)));
    for (const auto& warning : plan.warnings) out += "warning    " + warning + "\n";
    return out;
}

std::string to_json(const Plan& plan, const std::vector<std::string>& command, const Environment& added) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    for (const auto& node : plan.nodes) {
        nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
        for (const auto& rank : node.ranks)
            ranks.push_back({{"rank", rank.rank},
                             {"role", cluster::to_string(rank.role)},
                             {"index", rank.index},
                             {"local_rank", rank.local_rank},
                             {"gpus", rank.gpus},
                             {"devices", rank.assignment.devices},
                             {"cpus", rank.assignment.cpus.to_string()},
                             {"numa_nodes", rank.assignment.numa_nodes},
                             {"threads", rank.assignment.threads},
                             {"shared", rank.assignment.shared},
                             {"adapter", rank.assignment.adapter},
                             {"endpoint", rank.endpoint},
                             {"log", cluster::log_name(rank.role, rank.index)},
                             {"reason", rank.reason}});
        nodes.push_back(
            {{"host", node.host}, {"cuda_visible_devices", node.cuda_visible_devices}, {"ranks", ranks}});
    }
    nlohmann::ordered_json environment = nlohmann::ordered_json::object();
    for (const auto& [name, value] : added) environment[name] = redacted_value(name, value);
    const nlohmann::ordered_json out{
        {"job_id", plan.job_id},
        {"mode", to_string(plan.mode)},
        {"engine", plan.engine},
        {"size", plan.size()},
        {"own_node", plan.own_node ? nlohmann::ordered_json(*plan.own_node) : nlohmann::ordered_json()},
        {"bind", plan.bind},
        {"log_dir", plan.log_dir},
        {"program", redacted_arguments(plan.program)},
        {"paddle_master", plan.endpoints.paddle_master},
        {"master_addr", plan.endpoints.master_addr},
        {"master_port", plan.endpoints.master_port},
        {"nodes", nodes},
        {"hostfile", hostfile_text(plan)},
        {"command", redacted_arguments(command)},
        {"environment", environment},
        {"warnings", plan.warnings},
    };
    return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace dtrain::launch
