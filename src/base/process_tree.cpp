// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/process_tree.hpp"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include "base/files.hpp"
#include "base/paths_in.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

/// Of processes in /proc, of threads in /proc/PID/task, or of descriptors in /proc/PID/fd. The process may
/// end meanwhile.
std::vector<int> numbers_in(const std::string& folder) {
    std::vector<int> out;
    for (const auto& path : paths_in(folder))
        if (const auto number = parse_int(path.filename().string())) out.push_back(*number);
    return out;
}

/// The fields of /proc/PID/stat that follow the process's name, which itself may contain blanks and brackets;
/// the first is the third of proc(5). Empty if there is no such process.
std::vector<std::string> stat_fields(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) return {};
    return split(trimmed(std::string_view(stat).substr(name_end + 1)), ' ');
}

/// By the kernel's lists, of which each thread has one.
void add_listed_children(pid_t pid, std::vector<pid_t>& out) {
    const auto tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto thread : numbers_in(tasks)) {
        const auto listed = read_file(tasks + "/" + std::to_string(thread) + "/children").value_or("");
        for (const auto& child : split(listed, ' '))
            if (const auto number = parse_int(child)) out.push_back(*number);
    }
}

/// @param add_children appends the children of a process to a list
template <class AddChildren>
std::vector<pid_t> tree_below(pid_t root, AddChildren add_children) {
    std::vector<pid_t> out{root};
    for (std::size_t next = 0; next < out.size(); ++next) add_children(out[next], out);
    out.erase(out.begin());
    return out;
}

bool lists_children() {
    static const bool lists = ::access("/proc/thread-self/children", R_OK) == 0;
    return lists;
}

/// Not a kernel thread, a zombie, or another user's.
bool runs_a_program(pid_t pid) {
    std::error_code error;
    [[maybe_unused]] const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
    return !error;
}

/// Where each variable ends with a 0. By one call: between two of them the process may replace its program,
/// and the rest of what it had is gone.
std::string readable_environment_of(pid_t pid) {
    const auto path = "/proc/" + std::to_string(pid) + "/environ";
    for (std::size_t bytes = 32U << 10U;; bytes *= 2) {
        const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        std::string variables(bytes, '\0');
        const auto read = ::read(file.get(), variables.data(), variables.size());
        variables.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
        if (variables.size() < bytes) return variables;
    }
}

/// Whether a process has an environment with nothing in it. While the kernel makes that of a new program its
/// end is where it starts, too; where the code starts is set thereafter.
bool has_no_variables(pid_t pid) {
    constexpr std::size_t start_code = 26 - 3, env_start = 50 - 3, env_end = 51 - 3;
    const auto fields = stat_fields(pid);
    return fields.size() > env_end && fields[start_code] != "0" && fields[env_end] != "0" &&
           fields[env_start] == fields[env_end];
}

/// A process that replaces its program shows no environment for a moment: until the new one has its own, or
/// if it did so between the opening of the file and its reading.
std::string environment_of(pid_t pid) {
    constexpr int looks = 1000;
    constexpr std::chrono::milliseconds between_looks{1};
    for (int look = 0; look < looks; ++look) {
        auto variables = readable_environment_of(pid);
        if (!variables.empty() || !runs_a_program(pid) || has_no_variables(pid)) return variables;
        std::this_thread::sleep_for(between_looks);
    }
    return {};
}

}  // namespace

std::optional<ProcessStat> stat_of(pid_t pid) {
    const auto fields = stat_fields(pid);
    constexpr std::size_t state = 3 - 3, parent = 4 - 3, user_time = 14 - 3, times = 4, start_time = 22 - 3;
    if (fields.size() <= start_time) return std::nullopt;
    long ticks = 0;  // its own in user and kernel mode, then those of its children
    for (std::size_t field = user_time; field < user_time + times; ++field)
        ticks += parse_int<long>(fields[field]).value_or(0);
    return ProcessStat{.parent = parse_int(fields[parent]).value_or(0),
                       .state = fields[state].empty() ? '?' : fields[state].front(),
                       .ended = fields[state] == "Z" || fields[state] == "X",
                       .start_time = parse_int<std::uint64_t>(fields[start_time]).value_or(0),
                       .cpu_time = std::chrono::milliseconds(ticks * 1000 / ::sysconf(_SC_CLK_TCK))};
}

bool is_in_state(pid_t pid, char state) {
    const auto stat = stat_of(pid);
    return stat && stat->state == state;
}

std::string field_of(std::string_view content, std::string_view name) {
    for (const auto& line : split(content, '\n'))
        if (line.starts_with(name)) return std::string(trimmed(std::string_view(line).substr(name.size())));
    return "";
}

ThreadTimes times_of(pid_t pid, pid_t thread) {
    const auto file = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/schedstat";
    // "time on a processor, time ready for one, number of times": proc(5)
    const auto fields = split(trimmed(read_file(file).value_or("")), ' ');
    if (fields.size() < 2) return {};
    const auto time = [](const std::string& field) {
        return std::chrono::nanoseconds(parse_int<std::int64_t>(field).value_or(0));
    };
    return {.on_processor = time(fields[0]), .ready = time(fields[1])};
}

std::chrono::milliseconds processor_wait_of(pid_t pid) {
    std::chrono::nanoseconds total{0};
    for (const auto thread : threads_of(pid)) total += times_of(pid, thread).ready;
    return std::chrono::duration_cast<std::chrono::milliseconds>(total);
}

std::uintmax_t bytes_moved_by(pid_t pid) {
    const auto io = read_file("/proc/" + std::to_string(pid) + "/io").value_or("");
    std::uintmax_t total = 0;
    for (const auto* const name : {"rchar:", "wchar:"})
        total += parse_int<std::uintmax_t>(field_of(io, name)).value_or(0);
    return total;
}

std::vector<int> open_descriptors(pid_t pid) {
    return numbers_in("/proc/" + std::to_string(pid) + "/fd");
}

std::vector<pid_t> threads_of(pid_t pid) {
    return numbers_in("/proc/" + std::to_string(pid) + "/task");
}

std::vector<pid_t> all_processes() {
    return numbers_in("/proc");
}

std::vector<pid_t> children_of(pid_t parent) {
    auto out = all_processes();
    std::erase_if(out, [parent](pid_t pid) {
        const auto stat = stat_of(pid);
        return !stat || stat->parent != parent;
    });
    return out;
}

std::vector<pid_t> descendants_of(pid_t root) {
    std::multimap<pid_t, pid_t> children;
    for (const auto pid : all_processes())
        if (const auto stat = stat_of(pid)) children.emplace(stat->parent, pid);
    return tree_below(root, [&](pid_t parent, std::vector<pid_t>& out) {
        const auto [first, last] = children.equal_range(parent);
        for (auto child = first; child != last; ++child) out.push_back(child->second);
    });
}

std::vector<pid_t> processes_below(pid_t root) {
    return lists_children() ? tree_below(root, add_listed_children) : descendants_of(root);
}

std::vector<pid_t> signal_descendants(std::initializer_list<int> signals) {
    auto descendants = descendants_of(::getpid());
    for (const auto pid : descendants)
        for (const int signal : signals) ::kill(pid, signal);
    return descendants;
}

std::vector<pid_t> processes_with_variable(const std::string& name, const std::string& value) {
    const std::string entry = name + "=" + value + '\0';
    std::vector<pid_t> out;
    for (const auto pid : all_processes()) {
        if (pid == ::getpid()) continue;
        const auto variables = '\0' + environment_of(pid);
        if (variables.find('\0' + entry) != std::string::npos) out.push_back(pid);
    }
    return out;
}

}  // namespace dtrain
