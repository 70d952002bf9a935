// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/leftovers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <linux/magic.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/paths_in.hpp"
#include "base/process_tree.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

/// Prefixes of shared memory files of Open MPI 4 and 5, and of dtrain's own messages (dtrain-letters-: 0.1)
/// and ports. MPI creates a file and maps it at once.
constexpr std::array<std::string_view, 7> shared_files{
    "vader_segment.",   "sm_segment.",     "osc_sm.",      "osc_rdma.",
    "dtrain-messages-", "dtrain-letters-", "dtrain-ports-"};
constexpr double clock_margin = 10;  // seconds
constexpr std::chrono::milliseconds time_to_open{50};

bool is_own(const fs::path& path, mode_t kind) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind && info.st_uid == ::geteuid();
}

/// A session folder of mpirun is named after its process. A process that was started after the folder's last
/// change is another one with the same pid.
bool may_be_of_process(const fs::path& session, pid_t pid) {
    const auto process = stat_of(pid);
    struct stat info {};
    timespec now{}, up{};
    if (!process || process->ended || ::lstat(session.c_str(), &info) != 0) return false;
    ::clock_gettime(CLOCK_REALTIME, &now);
    ::clock_gettime(CLOCK_BOOTTIME, &up);
    const auto started =
        static_cast<double>(now.tv_sec - up.tv_sec) +
        static_cast<double>(process->start_time) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    return started < static_cast<double>(info.st_ctim.tv_sec) + clock_margin;
}

/// The process whose session a folder is: of mpirun 4.1 "pid.<pid>", of 5.0 and its daemons
/// "prterun.<host>.<pid>.<uid>" and "prted.<host>.<pid>.<uid>"; none: of several, or not a session.
std::optional<pid_t> process_of_session(const std::string& name) {
    if (name.starts_with("pid.")) return parse_int(name.substr(4));
    const auto parts = split(name, '.');
    if (!name.starts_with("prte") || parts.size() < 4) return std::nullopt;
    return parse_int(parts[parts.size() - 2]);
}

/// mpirun and its daemons keep some of their session's files open all the time; on an overlay it cannot be
/// detected whether a file is mapped.
bool is_dead_session(const fs::path& session) {
    struct statfs system {};
    if (::statfs(session.c_str(), &system) != 0 || system.f_type == OVERLAYFS_SUPER_MAGIC) return false;
    const auto name = session.filename().string();
    if (const auto pid = process_of_session(name)) {
        if (may_be_of_process(session, *pid)) return false;
    } else if (!name.starts_with("jf.")) {
        return false;
    }
    bool has_held_kind = false;
    std::error_code failed;
    // Its owner, or another launcher, may be removing it.
    for (fs::recursive_directory_iterator entry(session, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (!is_own(entry->path(), S_IFREG)) continue;
        if (is_in_use(entry->path())) return false;
        has_held_kind |= entry->path().filename() == "hwloc.sm" ||
                         entry->path().parent_path().filename().string().starts_with("pmix_dstor");
    }
    return !failed && has_held_kind;
}

/// Whether a folder is named "<begin>.<host><rest>.<uid>", with this host by its full or its short name.
bool is_of_host(std::string_view name, std::string_view begin, const std::string& host,
                const std::string& rest) {
    return std::ranges::any_of(std::array{host, split(host, '.').front()}, [&](const std::string& known) {
        return name == fmt::format("{}.{}{}.{}", begin, known, rest, ::geteuid());
    });
}

/// The folders in which mpirun 4.1 has this user's sessions on this host.
std::vector<fs::path> session_folders(const LeftoverFolders& of) {
    auto folders = paths_in(of.temporary);
    std::erase_if(folders, [&](const fs::path& folder) {
        return !is_of_host(folder.filename().string(), "ompi", of.host, "") || !is_own(folder, S_IFDIR);
    });
    return folders;
}

/// The sessions of mpirun 5.0 and its daemons, of this user on this host.
std::vector<fs::path> sessions_of_prrte(const LeftoverFolders& of) {
    auto folders = paths_in(of.temporary);
    std::erase_if(folders, [&](const fs::path& folder) {
        const auto name = folder.filename().string();
        const auto pid = process_of_session(name);
        const auto rest = pid ? fmt::format(".{}", *pid) : "";
        return !pid || !is_own(folder, S_IFDIR) ||
               !(is_of_host(name, "prterun", of.host, rest) || is_of_host(name, "prted", of.host, rest));
    });
    return folders;
}

bool remove_dead_session(const fs::path& session) {
    if (!is_dead_session(session)) return false;
    std::error_code failed;
    fs::remove_all(session, failed);
    return !failed;
}

int remove_sessions(const LeftoverFolders& of) {
    int removed = 0;
    for (const auto& top : session_folders(of)) {
        const int removed_before = removed;
        for (const auto& session : paths_in(top)) {
            if (is_own(session, S_IFDIR) && remove_dead_session(session)) ++removed;
        }
        if (removed > removed_before) ::rmdir(top.c_str());  // succeeds if it is empty; mpirun does the same
    }
    return removed + static_cast<int>(std::ranges::count_if(sessions_of_prrte(of), remove_dead_session));
}

bool is_dead_shared_memory(const fs::path& file) {
    const auto name = file.filename().string();
    const auto is_begin = [&](std::string_view begin) { return name.starts_with(begin); };
    return std::ranges::any_of(shared_files, is_begin) && is_own(file, S_IFREG) && !is_in_use(file);
}

int remove_shared_memory(const fs::path& folder) {
    auto files = paths_in(folder);
    std::erase_if(files, [](const fs::path& file) { return !is_dead_shared_memory(file); });
    if (files.empty()) return 0;
    // A process that is creating a file has its name shortly before the kernel counts the file as open.
    std::this_thread::sleep_for(time_to_open);
    return static_cast<int>(std::ranges::count_if(files, [](const fs::path& file) {
        return is_dead_shared_memory(file) && ::unlink(file.c_str()) == 0;
    }));
}

}  // namespace

bool is_in_use(const fs::path& file) {
    const FileDescriptor opened(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!opened.valid()) return true;
    // Another process that opens the file during the lease would otherwise end this process by SIGIO.
    if (::fcntl(opened.get(), F_SETSIG, SIGWINCH) != 0) return true;
    // The kernel grants a write lease only if no other process has the file open.
    return ::fcntl(opened.get(), F_SETLEASE, F_WRLCK) != 0;
}

LeftoverFolders leftover_folders(const Environment& environment) {
    return {.temporary = temporary_directory(environment), .host = host_name()};
}

void remove_session(const LeftoverFolders& of, pid_t mpirun) {
    if (const auto process = stat_of(mpirun); process && !process->ended) return;
    for (const auto& top : session_folders(of)) {
        const auto session = top / fmt::format("pid.{}", mpirun);
        if (!is_own(session, S_IFDIR)) continue;
        std::error_code ignored;
        fs::remove_all(session, ignored);
        ::rmdir(top.c_str());  // succeeds if it is empty
    }
    for (const auto& session : sessions_of_prrte(of)) {
        if (process_of_session(session.filename().string()) != mpirun) continue;
        std::error_code ignored;
        fs::remove_all(session, ignored);
    }
}

int remove_leftovers(const LeftoverFolders& of) {
    return remove_abandoned_folders(of.temporary) + remove_abandoned_folders(of.shared_memory) +
           remove_sessions(of) + remove_shared_memory(of.shared_memory);
}

}  // namespace dtrain
