// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/claimed_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view letters = "XXXXXX";
/// Before the letters of a folder that is not claimed yet, or is being removed.
constexpr std::string_view unclaimed = "unclaimed.";
constexpr int max_attempts = 100;

std::string unclaimed_name(std::string path) {
    return path.insert(path.size() - letters.size(), unclaimed);
}

std::string claimed_name(std::string path) {
    return path.erase(path.size() - letters.size() - unclaimed.size(), unclaimed.size());
}

bool is_unclaimed(const fs::path& folder) {
    const auto name = folder.filename().string();
    const auto end = unclaimed.size() + letters.size();
    return name.size() > end && std::string_view(name).substr(name.size() - end).starts_with(unclaimed);
}

/// Locked before it gets its name, as whoever can lock it may remove the folder.
/// @returns none: errno has the reason
FileDescriptor locked_mark(const fs::path& folder, const std::string& mark) {
    const auto first = (folder / (mark + ".tmp")).string();
    FileDescriptor file(
        ::open(first.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.valid()) return file;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::rename(first.c_str(), (folder / mark).c_str()) == 0)
        return file;
    const int error = errno;
    file.reset();
    errno = error;
    return file;
}

/// Others may be removing it, too.
bool remove_with_others(const fs::path& folder) {
    std::error_code failed;
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
        fs::remove_all(folder, failed);
        if (failed != std::errc::no_such_file_or_directory) break;
    }
    return !failed;
}

/// With another name first: wherever that ends, others know the rest.
bool remove_whole(const fs::path& folder) {
    const auto doomed = is_unclaimed(folder) ? folder : fs::path(unclaimed_name(folder));
    std::error_code failed;
    fs::rename(folder, doomed, failed);
    return remove_with_others(failed ? folder : doomed);
}

}  // namespace

ClaimedFolder::ClaimedFolder(const fs::path& parent, std::string_view begin, const std::string& mark) {
    for (int attempt = 1;; ++attempt) {
        auto made = unclaimed_name((parent / fmt::format("{}{}", begin, letters)).string());
        if (::mkdtemp(made.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), "cannot make a folder like " + made);
        lock_ = locked_mark(made, mark);
        claim_error_ = lock_.valid() ? 0 : errno;
        const auto claimed = claimed_name(made);
        const bool somebody_removes_it = claim_error_ == ENOENT;
        if (!somebody_removes_it && ::rename(made.c_str(), claimed.c_str()) == 0) {
            path_ = claimed;
            return;
        }
        const int error = errno;
        remove_with_others(made);
        if (attempt == max_attempts)
            throw std::system_error(error, std::generic_category(), "cannot make the folder " + claimed);
    }
}

ClaimedFolder::~ClaimedFolder() {
    remove_whole(path_);
}

bool remove_if_abandoned(const fs::path& folder, const std::string& mark) {
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
        return false;
    const FileDescriptor claim(::open((folder / mark).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const bool has_no_mark = !claim.valid() && errno == ENOENT;
    const bool is_abandoned =
        claim.valid() ? ::flock(claim.get(), LOCK_EX | LOCK_NB) == 0 : has_no_mark && is_unclaimed(folder);
    return is_abandoned && remove_whole(folder);
}

}  // namespace dtrain
