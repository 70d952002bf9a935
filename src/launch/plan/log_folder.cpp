// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/log_folder.hpp"

#include <cerrno>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "scheduler/registry.hpp"

namespace dtrain::launch {
std::string job_name(const Options& options, const Environment& environment, const std::string& otherwise) {
    if (options.job_id != Options{}.job_id) return options.job_id;
    if (const auto* scheduler = scheduler::of_this_job(environment)) return scheduler->job_id(environment);
    for (const char* name : {"LSB_JOBID", "COBALT_JOBID", "FLUX_JOB_ID"})  // schedulers without more support
        if (const auto id = environment.get(name); id && !id->empty()) return *id;
    return otherwise;
}

std::string expanded_log_dir(const Options& options, const Environment& environment,
                             const std::string& otherwise) {
    std::string out;
    const auto& pattern = options.log_dir;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const bool marked = pattern[at] == '%' && at + 1 < pattern.size();
        if (marked && pattern[at + 1] == 'j') {
            out += job_name(options, environment, otherwise);
            ++at;
        } else {
            out += pattern[at];
            if (marked && pattern[at + 1] == '%') ++at;
        }
    }
    return out;
}

void make_log_folder(const std::string& folder, LogFolders folders) {
    const auto error = make_log_folders(folder);
    if (error || ::access(folder.c_str(), W_OK | X_OK) != 0)
        throw UsageError(fmt::format("--log_dir {} cannot be written: {}", folder,
                                     error ? error.message() : std::generic_category().message(errno)));
    if (const auto reason = why_no_log_folder(folder, folders)) throw UsageError("--log_dir " + *reason);
}

LogFolderClaim::LogFolderClaim(const std::string& folder, const std::string& who, LogFolders folders) {
    const auto path = folder + "/.dtrain.lock";
    auto opened = open_log_file(path, 0600, folders);
    if (opened.error == ELOOP || opened.error == EPERM)
        throw UsageError(fmt::format("cannot write {}: {}", path, opened.why));
    if (!opened.file.valid()) return;  // the folder belongs to somebody else: nothing to record
    file_ = std::move(opened.file);
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
        if (::ftruncate(file_.get(), 0) == 0) write_all(file_.get(), who + "\n");
        return;
    }
    if (errno != EWOULDBLOCK) return;  // the file system does not support locks
    std::string text(256, '\0');
    const auto got = ::pread(file_.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    other_ = std::string(trimmed(text));
}

}  // namespace dtrain::launch
