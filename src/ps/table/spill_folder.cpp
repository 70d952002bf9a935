// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/spill_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::ps {
namespace {

constexpr const char* prefix = "dtrain-rows-";
constexpr const char* owner_file = "owner";

[[noreturn]] void refuse(const std::filesystem::path& folder, int error) {
    throw UsageError(fmt::format("rows of sparse tables cannot be put on disk in {}: {}; name another folder",
                                 folder.string(), std::strerror(error)));
}

void remove_leftovers(const std::filesystem::path& parent) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        const FileDescriptor owner(::open((entry.path() / owner_file).c_str(), O_RDWR | O_CLOEXEC));
        if (owner.valid() && ::flock(owner.get(), LOCK_EX | LOCK_NB) == 0)
            std::filesystem::remove_all(entry.path(), ignored);
    }
}

}  // namespace

SpillFolder::SpillFolder(const std::filesystem::path& parent) {
    std::error_code error;
    std::filesystem::create_directories(parent, error);
    if (error) refuse(parent, error.value());
    remove_leftovers(parent);
    auto pattern = (parent / fmt::format("{}{}-XXXXXX", prefix, ::getpid())).string();
    if (::mkdtemp(pattern.data()) == nullptr) refuse(parent, errno);
    path_ = pattern;
    // It gets its name when it is locked: what has no such file, nobody removes.
    const auto unlocked = path_ / "owner.tmp";
    owner_ = FileDescriptor(::open(unlocked.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!owner_.valid() || ::flock(owner_.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::rename(unlocked.c_str(), (path_ / owner_file).c_str()) != 0) {
        const int reason = errno;
        std::filesystem::remove_all(path_, error);
        refuse(parent, reason);
    }
}

SpillFolder::~SpillFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace dtrain::ps
