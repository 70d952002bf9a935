// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/agreed_port.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/ports.hpp"
#include "identity/endpoints.hpp"

namespace dtrain::worker {
namespace {

constexpr mode_t owner_only = 0600;
constexpr int most_choices = 32;
constexpr std::size_t longest_name = 200;

// Bytes of the file that are locked: by the rank that reads or writes it, and by every rank that is there.
constexpr off_t turn = 0;
constexpr off_t presence = 1;

/// Locks of the open file (F_OFD_SETLK), which a process that is forked does not give up.
bool lock(const FileDescriptor& file, off_t byte, short kind, int command = F_OFD_SETLK) {
    struct flock wanted {};
    wanted.l_type = kind;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = byte;
    wanted.l_len = 1;
    while (::fcntl(file.get(), command, &wanted) != 0)
        if (errno != EINTR) return false;
    return true;
}

std::filesystem::path path_for(const std::filesystem::path& folder, std::string_view job_id) {
    auto name = fmt::format("dtrain-ports-{}-{}", ::geteuid(), job_id.substr(0, longest_name));
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.'; }, '-');
    return folder / name;
}

/// The file, with its turn taken; invalid if there is none of this user.
FileDescriptor open_in_turn(const std::filesystem::path& path) {
    for (;;) {
        FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, owner_only));
        struct stat info {};
        if (!file.valid() || !lock(file, turn, F_WRLCK, F_OFD_SETLKW) || ::fstat(file.get(), &info) != 0)
            return {};
        if (info.st_nlink == 0) continue;  // the last rank has removed it meanwhile
        return info.st_uid == ::geteuid() ? std::move(file) : FileDescriptor();
    }
}

bool are_free(int first, int count) {
    std::vector<int> ports(static_cast<std::size_t>(count));
    std::iota(ports.begin(), ports.end(), first);
    try {
        const auto held = HeldPorts::exactly(ports);
        return true;
    } catch (const PortTaken&) {
        return false;
    }
}

int choose(std::string_view job_id, int count) {
    const int usual = cluster::base_port(job_id, count);
    for (int choice = 0, first = usual; choice < most_choices; ++choice) {
        if (are_free(first, count)) return first;
        first = cluster::base_port(fmt::format("{}#{}", job_id, choice), count);
    }
    return usual;
}

}  // namespace

AgreedPort::AgreedPort(const std::filesystem::path& folder, std::string_view job_id, int count)
    : path_(path_for(folder, job_id)), file_(open_in_turn(path_)), first_(0) {
    if (!file_.valid()) {
        first_ = cluster::base_port(job_id, count);
        return;
    }
    const bool is_first = lock(file_, presence, F_WRLCK);
    if (is_first || ::pread(file_.get(), &first_, sizeof(first_), 0) != sizeof(first_)) {
        first_ = choose(job_id, count);
        if (::pwrite(file_.get(), &first_, sizeof(first_), 0) != sizeof(first_))
            first_ = cluster::base_port(job_id, count);
    }
    lock(file_, presence, F_RDLCK);
    lock(file_, turn, F_UNLCK);
}

AgreedPort::~AgreedPort() {
    if (!file_.valid() || !lock(file_, turn, F_WRLCK, F_OFD_SETLKW)) return;
    if (lock(file_, presence, F_WRLCK)) ::unlink(path_.c_str());
}

}  // namespace dtrain::worker
