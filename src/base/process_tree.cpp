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

/// Parent of a process, or 0 when it is gone. The name in /proc/PID/stat may hold blanks and brackets: the
/// fields begin after the last ')'.
pid_t parent_of(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) return 0;
    const auto fields = split(trimmed(std::string_view(stat).substr(name_end + 1)), ' ');
    return fields.size() > 1 ? parse_int(fields[1]).value_or(0) : 0;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root) {
    std::multimap<pid_t, pid_t> children;
    for (const auto pid : all_processes()) children.emplace(parent_of(pid), pid);
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
