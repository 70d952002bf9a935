// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/shared_segment.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/huge_pages.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/node/peers.hpp"

namespace dtrain::comm {
namespace {

constexpr int owner_only = 0600;
// At most this fraction of the free space in /dev/shm: windows, MPI and NCCL need memory there, too.
constexpr std::uintmax_t part_of_free = 4;

struct Offer {
    std::array<char, 64> name{};
    unsigned long long bytes = 0;  // 0: there is none
};

std::size_t room_for_each(int ranks, std::size_t max) {
    std::error_code error;
    const auto space = std::filesystem::space("/dev/shm", error);
    if (error) return 0;
    const auto each = space.available / part_of_free / static_cast<std::uintmax_t>(ranks);
    return static_cast<std::size_t>(std::min<std::uintmax_t>(max, each)) / memory_page * memory_page;
}

bool is_of_this_user(const FileDescriptor& file) {
    struct stat info {};
    return ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

std::size_t size_of(const FileDescriptor& file) {
    struct stat info {};
    return ::fstat(file.get(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
}

Error refused(const std::string& name) {
    return Error(
        fmt::format("shared memory {} cannot be opened: {}", name, std::generic_category().message(errno)));
}

}  // namespace

SharedSegment::SharedSegment(std::string name, FileDescriptor file, std::size_t bytes)
    : name_(std::move(name)), file_(std::move(file)) {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (memory != MAP_FAILED) bytes_ = {static_cast<std::byte*>(memory), bytes};
}

SharedSegment::~SharedSegment() {
    hide();
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

std::shared_ptr<SharedSegment> SharedSegment::make(std::size_t bytes) {
    std::random_device random;
    for (;;) {
        auto name = fmt::format("/dtrain-messages-{}-{:08x}", ::getpid(), random());
        FileDescriptor file(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, owner_only));
        if (!file.valid() && errno == EEXIST) continue;
        if (!file.valid()) return nullptr;
        const bool has_size = ::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0;
        const std::shared_ptr<SharedSegment> made(new SharedSegment(std::move(name), std::move(file), bytes));
        made->is_hidden_ = false;
        return has_size && !made->bytes_.empty() ? made : nullptr;
    }
}

std::shared_ptr<SharedSegment> SharedSegment::find(const std::string& name, std::size_t bytes) {
    FileDescriptor file(::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, owner_only));
    if (!file.valid() || !is_of_this_user(file)) return nullptr;
    const std::shared_ptr<SharedSegment> found(new SharedSegment(name, std::move(file), bytes));
    return found->bytes_.empty() ? nullptr : found;
}

std::shared_ptr<SharedSegment> SharedSegment::find_or_make(const std::string& name, std::size_t bytes) {
    FileDescriptor file;
    while (!file.valid()) {
        file = FileDescriptor(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, owner_only));
        if (!file.valid() && errno == EEXIST)
            file = FileDescriptor(::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, owner_only));
        if (!file.valid() && errno != ENOENT) throw refused(name);
    }
    if (!is_of_this_user(file))
        throw Error(fmt::format("shared memory {}: it is not a file of this user; use another name", name));
    if (size_of(file) < bytes && ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) throw refused(name);
    const std::shared_ptr<SharedSegment> segment(new SharedSegment(name, std::move(file), bytes));
    if (segment->bytes_.empty()) throw refused(name);
    segment->is_hidden_ = false;
    return segment;
}

bool SharedSegment::provide(std::size_t first, std::size_t bytes) {
    // If tmpfs cannot provide a page when it is touched, the process dies: so it is allocated beforehand.
    return first + bytes <= bytes_.size() &&
           ::posix_fallocate(file_.get(), static_cast<off_t>(first), static_cast<off_t>(bytes)) == 0;
}

void SharedSegment::hide() {
    if (!std::exchange(is_hidden_, true)) ::shm_unlink(name_.c_str());
}

std::shared_ptr<SharedSegment> share_segment(const Peers& node, std::size_t bytes) {
    std::shared_ptr<SharedSegment> segment;
    Offer own;
    if (node.rank() == 0) segment = SharedSegment::make(bytes);
    if (segment != nullptr) {
        own.bytes = bytes;
        std::ranges::copy(segment->name(), own.name.begin());
    }
    const auto offer = node.all_gather(own).front();
    if (node.rank() != 0 && offer.bytes > 0) segment = SharedSegment::find(offer.name.data(), bytes);
    (void)node.all(segment != nullptr);  // all have opened it, or will not
    if (segment != nullptr) segment->hide();
    return segment;
}

std::vector<std::shared_ptr<SharedSegment>> share_segments(MPI_Comm node, std::size_t max) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    const auto own_bytes = room_for_each(size, max);
    const auto own = own_bytes == 0 ? nullptr : SharedSegment::make(own_bytes);
    std::vector<Offer> offers(static_cast<std::size_t>(size));
    Offer offer;
    if (own != nullptr) {
        offer.bytes = own_bytes;
        std::copy(own->name().begin(), own->name().end(), offer.name.begin());
    }
    check(MPI_Allgather(&offer, sizeof(offer), MPI_BYTE, offers.data(), sizeof(offer), MPI_BYTE, node),
          "MPI_Allgather");
    std::vector<std::shared_ptr<SharedSegment>> segments;
    for (int other = 0; other < size; ++other) {
        const auto& [name, bytes] = offers[static_cast<std::size_t>(other)];
        segments.push_back(other == rank ? own
                           : bytes == 0  ? nullptr
                                         : SharedSegment::find(name.data(), bytes));
    }
    int is_seen = std::ranges::count(segments, nullptr) == 0 ? 1 : 0;
    check(MPI_Allreduce(MPI_IN_PLACE, &is_seen, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
    if (own != nullptr) own->hide();
    if (is_seen == 0) segments.clear();
    return segments;
}

}  // namespace dtrain::comm
