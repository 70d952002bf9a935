// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler/batch_script.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/shell_args.hpp"
#include "base/text.hpp"

namespace dtrain::scheduler {

std::string script_begin() {
    return "#!/bin/bash\n# Made by dtrain-launch submit.\n";
}

std::string script_end(const JobRequest& request, const std::vector<std::string>& arguments) {
    std::string out;
    if (request.modules) {
        out += "module load";
        for (const auto& module : shell_args(*request.modules)) out += " " + shell_quoted(module);
        out += "\n";
    }
    out += "exec " + shell_quoted(request.launcher);
    // The number of tasks per node no longer tells the number of processes.
    if (!request.gpus && request.cpus && !request.nproc_per_node) out += " --nproc_per_node=1";
    for (const auto& arg : arguments) out += " " + shell_quoted(arg);
    return out + "\n";
}

std::string name_of_job(const JobRequest& request) {
    auto name = std::filesystem::path(request.program).stem().string();
    std::replace_if(
        name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '-');
    return name.empty() ? "dtrain" : name;
}

int tasks_of_node(const JobRequest& request) {
    return request.gpus || request.cpus ? 1 : request.nproc_per_node.value_or(1);
}

std::string plain(std::string_view option, const std::string& value) {
    const bool usable = !value.empty() && std::none_of(value.begin(), value.end(), [](char letter) {
        return static_cast<unsigned char>(letter) <= ' ' || letter == '#' || letter == '"' || letter == '\'';
    });
    if (!usable)
        throw UsageError(
            fmt::format("{} {}: a batch script takes no blanks, quotes or # there", option, value));
    return value;
}

std::vector<std::string> further_lines(const JobRequest& request, const Scheduler& scheduler,
                                       std::string_view example) {
    std::vector<std::string> out;
    for (const auto& [option, values] : request.further) {
        if (values.empty()) continue;
        if (option != scheduler.further_option())
            throw UsageError(
                fmt::format("{} {} is for another scheduler than {}; remove it, or name that one "
                            "with --scheduler",
                            option, values.front(), scheduler.name()));
        for (const auto& value : values) {
            if (value.find_first_of("\n\r") != std::string::npos || !value.starts_with("-"))
                throw UsageError(fmt::format("{} {} is no option of {}; write {}", option, value,
                                             scheduler.submit_program(), example));
            out.push_back(value);
        }
    }
    return out;
}

std::string reason_of(const Captured& answer) {
    const auto said = trimmed(answer.err);
    return one_line(said.empty() ? trimmed(answer.out) : said);
}

}  // namespace dtrain::scheduler
