// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/log_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::launch {
std::string job_name(const Options& options, const Environment& environment, const std::string& otherwise) {
    if (options.job_id != Options{}.job_id) return options.job_id;
    for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "FLUX_JOB_ID"})
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

void make_log_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || ::access(folder.c_str(), W_OK | X_OK) != 0)
        throw UsageError(fmt::format("--log_dir {} cannot be written: {}", folder,
                                     error ? error.message() : std::generic_category().message(errno)));
}

LogFolderClaim::LogFolderClaim(const std::string& folder, const std::string& who)
    : file_(::open((folder + "/.dtrain.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (!file_.valid()) return;  // the folder is somebody else's: nothing to tell
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
        if (::ftruncate(file_.get(), 0) == 0) write_all(file_.get(), who + "\n");
        return;
    }
    if (errno != EWOULDBLOCK) return;  // a file system without locks
    std::string text(256, '\0');
    const auto got = ::pread(file_.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    other_ = std::string(trimmed(text));
}

}  // namespace dtrain::launch
