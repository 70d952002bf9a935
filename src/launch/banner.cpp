// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/banner.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr std::size_t name_width = 40;
constexpr std::size_t value_width = 45;
constexpr std::size_t gap = 2;
constexpr std::size_t kept_of_long_values = 41;

/// A list as Python prints it, which is what the banner's readers parse.
std::string python_list(const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    for (const auto& word : words) quoted.push_back("'" + word + "'");
    return "[" + join(quoted, ", ") + "]";
}

}  // namespace

std::string configuration_banner(const Options& options) {
    std::string out = "-----------  Configuration Arguments -----------\n";
    out += "gpus: " + options.gpus.value_or("None") + "\n";
    out += "job_id: " + options.job_id + "\n";
    out += "log_dir: " + options.log_dir + "\n";
    out += "nproc_per_node: " + (options.nproc_per_node ? std::to_string(*options.nproc_per_node) : "None") +
           "\n";
    out += "run_mode: " + options.run_mode + "\n";
    out += "training_script: " + options.script + "\n";
    out += "training_script_args: " + python_list(options.script_arguments) + "\n";
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

std::vector<TableRow> first_process_rows(const Plan& plan) {
    const auto& first = plan.nodes.front().ranks.front();
    std::vector<TableRow> rows{{"PADDLE_CURRENT_ENDPOINT", plan.endpoints.trainers.front()},
                               {"PADDLE_TRAINERS_NUM", std::to_string(plan.size())}};
    if (!first.assignment.devices.empty())
        rows.push_back({"FLAGS_selected_gpus", fmt::format("{}", fmt::join(first.assignment.devices, ","))});
    rows.push_back({"PADDLE_TRAINER_ENDPOINTS", join(plan.endpoints.trainers, ",")});
    rows.push_back({"PADDLE_TRAINER_ID", "0"});
    return rows;
}

std::string endpoints_log(const Plan& plan) {
    return "PADDLE_TRAINER_ENDPOINTS:\n" + join(plan.endpoints.trainers, "\n") + "\n";
}

}  // namespace dtrain::launch
