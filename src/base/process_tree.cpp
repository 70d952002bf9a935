// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/process_tree.hpp"

#include <filesystem>
#include <map>
#include <signal.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

std::vector<pid_t> all_processes() {
    std::vector<pid_t> out;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error))
        if (const auto pid = parse_int(entry.path().filename().string())) out.push_back(*pid);
    return out;
}

}  // namespace

std::optional<ProcessStat> stat_of(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
    // The name may contain blanks and brackets: the fields begin after the last ')', with the third field of
    // proc(5).
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    const auto fields = split(trimmed(std::string_view(stat).substr(name_end + 1)), ' ');
    constexpr std::size_t state = 3 - 3, parent = 4 - 3, user_time = 14 - 3, times = 4, start_time = 22 - 3;
    if (fields.size() <= start_time) return std::nullopt;
    long ticks = 0;  // its own in user and kernel mode, then those of its children
    for (std::size_t field = user_time; field < user_time + times; ++field)
        ticks += parse_int<long>(fields[field]).value_or(0);
    return ProcessStat{.parent = parse_int(fields[parent]).value_or(0),
                       .ended = fields[state] == "Z" || fields[state] == "X",
                       .start_time = parse_int<std::uint64_t>(fields[start_time]).value_or(0),
                       .cpu_time = std::chrono::milliseconds(ticks * 1000 / ::sysconf(_SC_CLK_TCK))};
}

std::vector<pid_t> descendants_of(pid_t root) {
    std::multimap<pid_t, pid_t> children;
    for (const auto pid : all_processes())
        if (const auto stat = stat_of(pid)) children.emplace(stat->parent, pid);
    std::vector<pid_t> out{root};
    for (std::size_t next = 0; next < out.size(); ++next) {
        const auto [first, last] = children.equal_range(out[next]);
        for (auto child = first; child != last; ++child) out.push_back(child->second);
    }
    out.erase(out.begin());
    return out;
}

void signal_descendants(int signal) {
    for (const auto pid : descendants_of(::getpid())) ::kill(pid, signal);
}

std::vector<pid_t> processes_with_variable(const std::string& name, const std::string& value) {
    const std::string entry = name + "=" + value + '\0';
    std::vector<pid_t> out;
    for (const auto pid : all_processes()) {
        if (pid == ::getpid()) continue;
        const auto variables = '\0' + read_file("/proc/" + std::to_string(pid) + "/environ").value_or("");
        if (variables.find('\0' + entry) != std::string::npos) out.push_back(pid);
    }
    return out;
}

}  // namespace dtrain
