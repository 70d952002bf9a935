// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/error_file.hpp"

#include <mutex>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <dtrain/environment.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/redact.hpp"
#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "base/wall_clock.hpp"

namespace dtrain {
namespace {

constexpr std::uintmax_t max_bytes = std::uintmax_t{1} << 20U;
constexpr mode_t error_file_mode = 0600;

std::optional<std::string> own_error_file(const Environment& environment) {
    for (const char* name : {error_file_variable, torch_error_file_variable})
        if (auto path = environment.get_or(name, ""); !path.empty()) return path;
    return std::nullopt;
}

/// Whether this process is the first time here for this file; a forked process is another one.
bool is_first_of_process(const std::string& file) {
    static std::mutex mutex;
    static std::string last_file;
    static pid_t last_process = 0;
    const std::lock_guard lock(mutex);
    const bool same_file = std::exchange(last_file, file) == file;
    const bool same_process = std::exchange(last_process, ::getpid()) == ::getpid();
    return !same_file || !same_process;
}

}  // namespace

void report_error(RankError error) {
    const auto environment = Environment::of_this_process();
    const auto file = own_error_file(environment);
    if (!file || !is_first_of_process(*file)) return;
    error.pid = ::getpid();
    error.message = one_line(redacted_text(error.message));
    error.rank = parse_int(environment.get_or("RANK", "")).value_or(error.rank);
    error.host = host_name();
    error.time_us = now_us();
    try {
        replace_file_without_sync(*file, error_file_text(error), error_file_mode);
    } catch (const std::system_error&) {
        // The error itself is printed; a full disk must not replace it.
    }
}

ErrorFileContent read_error_file(const std::filesystem::path& file) {
    struct stat info {};
    if (::lstat(file.c_str(), &info) != 0) return {};
    try {
        const auto text = read_regular_file(file, Links::refused, max_bytes);
        if (auto error = parse_error_file(text)) return {std::move(error), ""};
        return {std::nullopt, "it has neither dtrain's form nor that of torch's @record"};
    } catch (const UnreadableFile& unreadable) {
        return {std::nullopt, unreadable.reason()};
    }
}

}  // namespace dtrain
