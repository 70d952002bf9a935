// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/stacks.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <map>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process_tree.hpp"
#include "base/small_file.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "trace/read_operation_log.hpp"
#include "trace/stack_reading.hpp"
#include "worker/held_process.hpp"
#include "worker/log_policy.hpp"
#include "worker/nccl_ras.hpp"
#include "worker/operation_dump.hpp"
#include "worker/torch_records.hpp"

namespace dtrain::worker {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

constexpr std::size_t max_processes = 32;
constexpr std::size_t max_threads = 64;
constexpr std::size_t max_calls = 24;  // told to the launcher
constexpr std::size_t max_call = 160;
constexpr const char* stopped_mark = "stopped";
constexpr std::size_t max_of_process = 256 * 1024;
constexpr std::size_t max_records = 64 * 1024;
constexpr milliseconds torch_limit{6'000};
constexpr milliseconds nccl_limit{6'000};
constexpr milliseconds tool_limit{8'000};
constexpr milliseconds more_for_busy_tools{22'000};  // where processes outnumber processors
constexpr milliseconds all_tools_limit{12'000};  // afterwards only the kernel is asked, which answers at once

std::string proc(pid_t pid, std::string_view name) {
    return fmt::format("/proc/{}/{}", pid, name);
}

bool is_python(pid_t pid) {
    std::error_code error;
    return fs::read_symlink(proc(pid, "exe"), error).filename().string().find("python") != std::string::npos;
}

/// By a signal.
bool is_stopped(pid_t pid) {
    return is_in_state(pid, 'T');
}

/// After the debugger that looked at it was told to end: one that was still attaching leaves it stopped.
void let_go_on(pid_t pid) {
    constexpr milliseconds debugger_ends{500};
    constexpr milliseconds between{1};
    const auto until = Clock::now() + debugger_ends;
    while (tracer_of(pid) != 0 && Clock::now() < until) std::this_thread::sleep_for(between);
    ::kill(pid, SIGCONT);
}

/// A debugger would wait for it in vain.
bool can_be_asked(pid_t pid) {
    return what_holds(pid).empty() && thread_in_kernel(pid) == 0;
}

/// Asks a tool about a process.
/// @param busy_until one that still works at its limit may go on until then
std::optional<Stacks> ask(std::vector<std::string> argv, pid_t pid,
                          std::vector<std::string> (*calls_of)(std::string_view),
                          const Environment& environment, milliseconds limit, Clock::time_point busy_until) {
    if (limit <= milliseconds{0} || !find_in_path(argv.front(), environment)) return std::nullopt;
    const bool was_stopped = is_stopped(pid);
    auto answer =
        run_and_capture({.argv = std::move(argv), .environment = environment, .parent_death_signal = SIGKILL},
                        limit, std::chrono::ceil<milliseconds>(busy_until - Clock::now()));
    auto calls = calls_of(answer.out);
    if (!calls.empty())
        return Stacks{.text = std::move(answer.out), .top = calls.front(), .calls = std::move(calls)};
    if (!was_stopped) let_go_on(pid);
    return std::nullopt;
}

/// What the kernel reports without stopping the process.
Stacks of_kernel(pid_t pid) {
    Stacks stacks;
    std::size_t threads = 0;
    for (const auto thread : threads_of(pid)) {
        if (++threads > max_threads) break;
        const fs::path folder = proc(pid, fmt::format("task/{}", thread));
        const auto content = [&](const char* name) { return trimmed_content(folder / name); };
        const auto status = read_file(folder / "status").value_or("");
        const auto where = content("wchan");
        stacks.text += fmt::format("thread {} ({}): {}; waits in {}; system call {}\n", thread,
                                   content("comm"), field_of(status, "State:"),
                                   where.empty() || where == "0" ? "nothing" : where, content("syscall"));
        if (const auto stack = content("stack"); !stack.empty()) stacks.text += stack + "\n";
        if (thread == pid)
            stacks.top =
                fmt::format("{} of the kernel, {}", where.empty() || where == "0" ? "nothing" : where,
                            field_of(status, "State:"));
    }
    return stacks;
}

std::optional<Stacks> of_tools(pid_t pid, const Environment& environment, milliseconds limit,
                               const std::string& own_stacks) {
    const auto number = std::to_string(pid);
    const auto busy_until = Clock::now() + limit + more_for_busy_tools;
    if (is_python(pid)) {
        std::vector<std::string> py_spy{"py-spy", "dump", "--pid", number};
        if (is_stopped(pid)) py_spy.emplace_back("--nonblocking");  // else it waits for it to go on
        if (auto stacks =
                ask(std::move(py_spy), pid, trace::frames_of_py_spy, environment, limit, busy_until))
            return stacks;
    }
    if (auto calls = trace::frames_of_py_spy(own_stacks); !calls.empty())
        return Stacks{.text = own_stacks, .top = calls.front(), .calls = std::move(calls)};
    // Time must not depend on user settings or a network, and string arguments must not be shown.
    std::vector<std::string> gdb{"gdb", "-nx", "-batch"};
    for (const auto* setting : {"debuginfod enabled off", "auto-load gdb-scripts off",
                                "auto-load python-scripts off", "print frame-arguments none", "width 0"})
        gdb.insert(gdb.end(), {"-iex", fmt::format("set {}", setting)});
    gdb.insert(gdb.end(), {"-ex", "thread apply all bt 64", "-p", number});
    return ask(std::move(gdb), pid, trace::frames_of_gdb, environment, limit, busy_until);
}

/// Without the arguments, which may be confidential.
std::string headline(pid_t pid) {
    std::error_code error;
    return fmt::format("==== pid {}: {} ({})\n", pid, trimmed_content(proc(pid, "comm")),
                       fs::read_symlink(proc(pid, "exe"), error).string());
}

/// How to continue a process that a signal has stopped; "" for any other. Call before a debugger stops it.
std::string resume_hint(pid_t pid) {
    return is_stopped(pid) ? fmt::format(", stopped by a signal: \"kill -CONT {}\" lets it go on", pid) : "";
}

/// Whether the processes have recorded that an operation goes on.
bool any_goes_on(const fs::path& operations) {
    if (operations.empty()) return false;
    const auto logs = trace::read_operation_logs(operations, Clock::now().time_since_epoch());
    return std::ranges::any_of(logs, trace::any_goes_on, &trace::ProcessOperations::operations);
}

trace::NcclView nccl_view_of(const std::vector<pid_t>& processes) {
    auto asked = processes;
    std::erase_if(asked, cannot_answer);
    if (asked.size() > max_processes) asked.resize(max_processes);
    return nccl_view(asked, nccl_limit).value_or(trace::NcclView());
}

/// What torch has recorded in all of the processes, or NCCL tells of them, on one line.
std::string records_line(const std::map<pid_t, trace::TorchRecord>& records, trace::NcclView nccl) {
    trace::RankState state;
    state.nccl = std::move(nccl);
    for (const auto& [pid, record] : records) {
        std::ranges::copy(record.groups, std::back_inserter(state.groups));
        std::ranges::copy(record.operations, std::back_inserter(state.operations));
    }
    return to_json(std::move(state), max_records);
}

/// When torch last noted that an operation began or ended, in nanoseconds of the steady clock, which all
/// processes of a machine have; "": it has noted none.
std::string last_operation_line(const std::map<pid_t, trace::TorchRecord>& records) {
    const auto now = Clock::now().time_since_epoch();
    std::optional<std::chrono::nanoseconds> shortest;
    for (const auto& [pid, record] : records)
        for (const auto& [operation, age, took] : record.all) {
            const auto ago = age - took.value_or(std::chrono::nanoseconds(0));
            shortest = std::min(shortest.value_or(ago), ago);
        }
    return shortest ? fmt::format("{}", (now - *shortest).count()) : "";
}

/// Runs in the child process. Returns the lines that the worker reads: whether the process is stopped, what
/// holds it, the top, what torch has recorded or NCCL tells, when torch's was, then the calls.
std::string collect(const std::vector<pid_t>& processes, const fs::path& file, mode_t mode,
                    const Environment& environment, const fs::path& operations, const fs::path& listing) {
    // The folder was checked when the log was opened.
    const auto out =
        try_open_log(file, {.mode = mode, .overwrite = true, .max_size = {}, .folders = LogFolders::any});
    auto records = torch_records(operations, processes, torch_limit);
    const auto last_operation = last_operation_line(records);
    if (!listing.empty()) append_torch_operations(records, listing, mode);
    // Before debuggers stop its threads for a moment.
    const bool is_recorded =
        std::ranges::any_of(records, [](const auto& each) { return !each.second.operations.empty(); }) ||
        any_goes_on(operations);
    const auto nccl = is_recorded ? trace::NcclView() : nccl_view_of(processes);
    const auto tools_until = Clock::now() + all_tools_limit;
    std::string summary;
    const auto held_by = processes.empty() ? "" : what_holds(processes.front());
    for (std::size_t each = 0; each < std::min(processes.size(), max_processes); ++each) {
        const auto left = std::chrono::duration_cast<milliseconds>(tools_until - Clock::now());
        const auto go_on = resume_hint(processes[each]);
        const auto stacks = stacks_of(processes[each], environment, std::min(left, tool_limit),
                                      records[processes[each]].stacks);
        write_all(out.get(), headline(processes[each]) + stacks.text.substr(0, max_of_process) + "\n");
        if (each > 0) continue;
        const auto* const stopped = go_on.empty() && held_by.empty() ? "" : stopped_mark;
        summary = fmt::format("{}\n{}\n{}\n{}\n{}", stopped, one_line(held_by, max_call),
                              one_line(stacks.top + go_on), records_line(records, nccl), last_operation);
        for (std::size_t call = 0; call < std::min(stacks.calls.size(), max_calls); ++call)
            summary += "\n" + one_line(stacks.calls[call], max_call);
    }
    if (processes.size() > max_processes)
        write_all(out.get(), fmt::format("==== and {} more processes\n", processes.size() - max_processes));
    return summary;
}

}  // namespace

Stacks stacks_of(pid_t pid, const Environment& environment, milliseconds limit,
                 const std::string& own_stacks) {
    const auto stacks = can_be_asked(pid) ? of_tools(pid, environment, limit, own_stacks) : std::nullopt;
    return stacks ? *stacks : of_kernel(pid);
}

std::vector<pid_t> most_informative_first(pid_t guard, pid_t program) {
    auto processes = processes_below(guard);
    auto deepest = program;
    for (;;) {
        std::vector<pid_t> children;
        for (const auto pid : processes)
            if (const auto stat = stat_of(pid); stat && stat->parent == deepest && !stat->ended)
                children.push_back(pid);
        if (children.size() != 1) break;
        deepest = children.front();
    }
    std::stable_partition(processes.begin(), processes.end(), [&](pid_t pid) { return pid == deepest; });
    return processes;
}

StackCollection::StackCollection(std::vector<pid_t> processes, fs::path file, mode_t mode,
                                 Environment environment, fs::path operations, fs::path listing) {
    std::ranges::copy_if(processes, std::back_inserter(running_),
                         [](pid_t pid) { return !is_stopped(pid) && tracer_of(pid) == 0; });
    auto answer = Pipe::open();
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        ::prctl(PR_SET_NAME, "dtrain-stacks");
        answer.read_end.reset();
        try {
            write_all(answer.write_end.get(),
                      collect(processes, file, mode, environment, operations, listing));
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    top_ = std::move(answer.read_end);
}

StackCollection::~StackCollection() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);  // and with it the debugger
    finish();
    for (const auto pid : running_) let_go_on(pid);
}

StackSummary StackCollection::finish() {
    std::string lines;
    std::array<char, 1024> piece;
    for (ssize_t got = 0; (got = ::read(top_.get(), piece.data(), piece.size())) != 0;) {
        if (got < 0 && errno != EINTR) break;
        if (got > 0) lines.append(piece.data(), static_cast<std::size_t>(got));
    }
    while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    auto parts = split(lines, '\n');
    if (parts.size() < 5) return {};
    const auto last_operation = parse_int<std::int64_t>(parts[4]);
    auto records = trace::parse_rank_state(parts[3]).value_or(trace::RankState());
    return {.top = std::move(parts[2]),
            .calls = {std::make_move_iterator(parts.begin() + 5), std::make_move_iterator(parts.end())},
            .is_stopped = parts[0] == stopped_mark,
            .held_by = std::move(parts[1]),
            .groups = std::move(records.groups),
            .operations = std::move(records.operations),
            .nccl = std::move(records.nccl),
            .last_operation =
                last_operation ? std::optional(Clock::time_point(std::chrono::nanoseconds(*last_operation)))
                               : std::nullopt};
}

}  // namespace dtrain::worker
