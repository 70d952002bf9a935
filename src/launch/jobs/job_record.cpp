// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/job_record.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/paths_in.hpp"
#include "base/process_tree.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"

namespace dtrain::launch {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobRecord, job, host, pid, started, engine, scheduler, scheduler_job,
                                   program, log_dir, begin_us, socket, size, hosts)

namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".json";
constexpr const char* pid_space_key = "pid_scope";
constexpr std::uintmax_t largest_record = 4 * 1024 * 1024;  // enough for 10,000 nodes with long names
constexpr std::string_view letters_of_files =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-[]";

std::string file_name(std::string text) {
    std::replace_if(
        text.begin(), text.end(),
        [](char letter) { return letters_of_files.find(letter) == std::string_view::npos; }, '_');
    return text;
}

bool is_own_file(const fs::path& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
           static_cast<std::uintmax_t>(info.st_size) <= largest_record;
}

/// "12.ctl" is also called "12".
std::string_view number_of(std::string_view scheduler_job) {
    return scheduler_job.substr(0, scheduler_job.find('.'));
}

}  // namespace

std::string to_json(const JobRecord& record) {
    nlohmann::json json = record;
    json[pid_space_key] = record.pid_scope;
    return dumped(json) + "\n";
}

std::optional<JobRecord> parse_record(std::string_view text) {
    return read_json(text, [](const nlohmann::json& json) {
        auto record = json.get<JobRecord>();
        record.pid_scope = json.value(pid_space_key, "");  // missing in records of dtrain 0.1
        return record;
    });
}

std::string full_name(const JobRecord& record) {
    if (record.host.empty()) return record.scheduler_job;
    return fmt::format("{}@{}:{}", record.job, record.host, record.pid);
}

bool is_called(const JobRecord& record, std::string_view word) {
    const auto& number = record.scheduler_job;
    return word == record.job || word == full_name(record) ||
           (!number.empty() && (word == number || word == number_of(number)));
}

std::optional<fs::path> records_folder(const Environment& environment) {
    if (auto named = environment.get_or("DTRAIN_JOBS_DIR", ""); !named.empty()) return named;
    if (const auto state = environment.get_or("XDG_STATE_HOME", ""); !state.empty())
        return fs::path(state) / "dtrain" / "jobs";
    const auto home = environment.get_or("HOME", "");
    if (home.empty()) return std::nullopt;
    return fs::path(home) / ".local" / "state" / "dtrain" / "jobs";
}

fs::path record_file(const fs::path& folder, const JobRecord& record) {
    const auto name = record.host.empty() ? fmt::format("submitted.{}", record.scheduler_job)
                                          : fmt::format("{}.{}", record.host, record.pid);
    return folder / (file_name(name) + std::string(extension));
}

void write_record(const fs::path& folder, const JobRecord& record) {
    if (fs::create_directories(folder)) ::chmod(folder.c_str(), 0700);
    replace_file_without_sync(record_file(folder, record), to_json(record), 0600);
}

std::vector<JobRecord> read_records(const fs::path& folder) {
    std::vector<JobRecord> records;
    for (const auto& path : paths_in(folder)) {
        if (path.extension() != extension || !is_own_file(path)) continue;
        if (auto record = parse_record(read_file(path).value_or(""))) records.push_back(std::move(*record));
    }
    std::sort(records.begin(), records.end(), [](const JobRecord& a, const JobRecord& b) {
        return std::tie(a.begin_us, a.host, a.pid) < std::tie(b.begin_us, b.host, b.pid);
    });
    return records;
}

std::string own_pid_space() {
    const auto boot = read_file("/proc/sys/kernel/random/boot_id");
    std::error_code error;
    const auto space = fs::read_symlink("/proc/self/ns/pid", error);
    if (!boot || error) return "";
    return fmt::format("{} {}", trimmed(*boot), space.string());
}

void remove_dead_records(const fs::path& folder, const std::string& host) {
    const auto own_scope = own_pid_space();
    if (own_scope.empty()) return;
    for (const auto& record : read_records(folder))
        if (record.host == host && record.pid_scope == own_scope && !is_running(record))
            remove_traces(folder, record);
}

bool is_running(const JobRecord& record) {
    const auto process = stat_of(record.pid);
    return process && !process->ended && process->start_time == record.started;
}

void remove_traces(const fs::path& folder, const JobRecord& record) {
    std::error_code ignored;
    fs::remove(record_file(folder, record), ignored);
    if (record.socket.empty()) return;
    remove_abandoned_folder(fs::path(record.socket).parent_path());
}

}  // namespace dtrain::launch
