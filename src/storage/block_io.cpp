// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/block_io.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

#include "base/aligned_memory.hpp"
#include "base/signal_free_thread.hpp"

namespace dtrain::storage {
namespace {

static_assert(std::endian::native == std::endian::little,
              "checkpoints are little endian, and their values are written as they lie in memory");

constexpr std::size_t block_bytes = 8 << 20;
constexpr std::size_t direct_from = 64 << 10;  // for smaller extents, waiting for the disk is not worth it
constexpr std::size_t part_bytes = 256 << 10;  // part of a block that fits in a core's own cache
constexpr std::size_t cache_line = 64;
constexpr int io_threads = 2;

bool is_aligned(std::uint64_t value) {
    return value % direct_alignment == 0;
}

[[noreturn]] void fail(int code, const std::filesystem::path& path) {
    throw std::system_error(code, std::generic_category(), path.string());
}

struct Block {
    std::size_t extent = 0;
    std::size_t begin = 0;  ///< offset in the extent
    std::size_t bytes = 0;
};

/// Extents split into blocks, and the checksums of the blocks.
template <class Extent>
class Blocks {
  public:
    explicit Blocks(std::span<const Extent> extents) : firsts_(extents.size() + 1) {
        for (std::size_t i = 0; i < extents.size(); ++i) {
            firsts_[i] = blocks_.size();
            for (std::size_t at = 0; at < extents[i].bytes; at += block_bytes)
                blocks_.push_back({i, at, std::min(block_bytes, extents[i].bytes - at)});
        }
        firsts_.back() = blocks_.size();
        sums_.resize(blocks_.size());
    }

    /// Calls `action` for each block and stores the checksum that it returns.
    template <class Action>
    void for_each(const Action& action) {
        const auto bytes =
            std::transform_reduce(blocks_.begin(), blocks_.end(), std::size_t{0}, std::plus<>(),
                                  [](const Block& block) { return block.bytes; });
        const auto threads = bytes > block_bytes ? io_threads : 1;
        in_threads(blocks_.size(), threads, [&](std::size_t i) { sums_[i] = action(blocks_[i]); });
    }

    std::vector<std::uint64_t> sums() const {
        std::vector<std::uint64_t> out;
        for (std::size_t i = 0; i + 1 < firsts_.size(); ++i)
            out.push_back(
                xxh3(std::as_bytes(std::span(sums_).subspan(firsts_[i], firsts_[i + 1] - firsts_[i]))));
        return out;
    }

  private:
    std::vector<Block> blocks_;
    std::vector<std::size_t> firsts_;  ///< first block of each extent
    std::vector<std::uint64_t> sums_;
};

/// A block-sized buffer of this thread.
std::byte* spare_block() {
    thread_local AlignedBytes<direct_alignment> block;
    if (!block) block = make_aligned_bytes<direct_alignment>(block_bytes);
    return block.get();
}

/// A file opened twice: bypassing the page cache, if possible, and through it.
class DirectFile {
  public:
    explicit DirectFile(const std::filesystem::path& path)
        : path_(path),
          plain_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)),
          direct_(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_DIRECT)) {
        if (!plain_.valid()) fail(errno, path);
        can_direct_ = direct_.valid();
    }

    void write(const std::byte* data, std::size_t bytes, std::int64_t offset) {
        std::size_t done = 0;
        if (can_direct_ && bytes >= direct_from && is_aligned(static_cast<std::uint64_t>(offset)))
            done = write_directly(data, bytes / direct_alignment * direct_alignment, offset);
        while (done < bytes) {
            const auto count =
                ::pwrite(plain_.get(), data + done, bytes - done, offset + static_cast<off_t>(done));
            if (count < 0 && errno != EINTR) fail(errno, path_);
            done += count > 0 ? static_cast<std::size_t>(count) : 0;
        }
    }

  private:
    /// Returns the number of bytes written.
    std::size_t write_directly(const std::byte* data, std::size_t bytes, std::int64_t offset) {
        if (!is_aligned(std::bit_cast<std::uintptr_t>(data))) {
            auto* const bounce = spare_block();
            std::memcpy(bounce, data, bytes);
            data = bounce;
        }
        std::size_t done = 0;
        while (done < bytes && is_aligned(done)) {
            const auto count =
                ::pwrite(direct_.get(), data + done, bytes - done, offset + static_cast<off_t>(done));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0 && errno == EINVAL) {
                can_direct_ = false;  // this file system requires another alignment
                break;
            }
            if (count < 0) fail(errno, path_);
            done += static_cast<std::size_t>(count);
        }
        return done;
    }

    std::filesystem::path path_;
    FileDescriptor plain_;
    FileDescriptor direct_;
    std::atomic<bool> can_direct_ = false;
};

using Sum = std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)>;

Sum new_sum() {
    Sum sum(XXH3_createState(), XXH3_freeState);
    if (!sum) throw std::bad_alloc();
    XXH3_64bits_reset(sum.get());
    return sum;
}

}  // namespace

std::uint64_t xxh3(std::span<const std::byte> bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t xxh3(const FileDescriptor& file) {
    const auto sum = new_sum();
    auto* const memory = spare_block();
    for (std::int64_t at = 0;;) {
        const auto count = read_at(file.get(), memory, part_bytes, at);
        if (!count) throw std::system_error(errno, std::generic_category(), "cannot read");
        if (*count == 0) return XXH3_64bits_digest(sum.get());
        XXH3_64bits_update(sum.get(), memory, *count);
        at += static_cast<std::int64_t>(*count);
    }
}

std::uint64_t extent_sum(std::span<const std::byte> bytes) {
    std::vector<std::uint64_t> sums;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(block_bytes, bytes.size())))
        sums.push_back(xxh3(bytes.first(std::min(block_bytes, bytes.size()))));
    return xxh3(std::as_bytes(std::span(sums)));
}

std::vector<std::uint64_t> write_extents(const std::filesystem::path& path,
                                         std::span<const WriteExtent> extents) {
    DirectFile file(path);
    Blocks<WriteExtent> blocks(extents);
    blocks.for_each([&](const Block& block) {
        const auto& extent = extents[block.extent];
        const auto* data = extent.data + block.begin;
        file.write(data, block.bytes, extent.offset + static_cast<std::int64_t>(block.begin));
        return xxh3({data, block.bytes});
    });
    return blocks.sums();
}

BlockFile::BlockFile(std::filesystem::path path, PageCache cache)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)), cache_(cache) {
    if (!file_.valid()) fail(errno, path_);
}

std::uint64_t BlockFile::read(const ReadExtent& extent) const {
    std::vector<std::uint64_t> sums;
    for (std::size_t at = 0; at < extent.bytes; at += block_bytes)
        sums.push_back(read_block(extent.data == nullptr ? nullptr : extent.data + at,
                                  std::min(block_bytes, extent.bytes - at),
                                  extent.offset + static_cast<std::int64_t>(at)));
    return xxh3(std::as_bytes(std::span(sums)));
}

/// Computes the checksum while each part of the block is in the cache. Reading into memory that is not
/// aligned to a cache line runs at a third of the speed, so such memory is filled through a buffer.
std::uint64_t BlockFile::read_block(std::byte* data, std::size_t bytes, std::int64_t offset) const {
    const bool straight = data != nullptr && std::bit_cast<std::uintptr_t>(data) % cache_line == 0;
    const auto sum = new_sum();
    for (std::size_t at = 0; at < bytes; at += part_bytes) {
        const auto part = std::min(part_bytes, bytes - at);
        auto* const to = straight ? data + at : spare_block();
        read_fully(to, part, offset + static_cast<std::int64_t>(at));
        XXH3_64bits_update(sum.get(), to, part);
        if (!straight && data != nullptr) std::memcpy(data + at, to, part);
    }
    if (cache_ == PageCache::left)
        ::posix_fadvise(file_.get(), offset, static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
    return XXH3_64bits_digest(sum.get());
}

void BlockFile::read_fully(std::byte* data, std::size_t bytes, std::int64_t offset) const {
    const auto done = read_at(file_.get(), data, bytes, offset);
    if (!done) fail(errno, path_);
    if (*done < bytes) fail(EIO, path_);
}

std::vector<std::uint64_t> read_extents(const std::filesystem::path& path,
                                        std::span<const ReadExtent> extents) {
    const BlockFile file(path);
    Blocks<ReadExtent> blocks(extents);
    blocks.for_each([&](const Block& block) {
        const auto& extent = extents[block.extent];
        auto* const data = extent.data == nullptr ? nullptr : extent.data + block.begin;
        return file.read_block(data, block.bytes, extent.offset + static_cast<std::int64_t>(block.begin));
    });
    return blocks.sums();
}

void reserve_space(int fd, std::int64_t bytes) {
    if (::fallocate(fd, 0, 0, bytes) != 0 && errno == ENOSPC)
        throw std::system_error(errno, std::generic_category());
}

void in_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& action) {
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        try {
            for (auto i = next++; i < count; i = next++) action(i);
        } catch (...) {
            next = count;
            const std::scoped_lock lock(mutex);
            failure = std::current_exception();
        }
    };
    std::vector<std::jthread> helpers;
    const auto wanted = std::min<std::size_t>(count, static_cast<std::size_t>(threads));
    while (helpers.size() + 1 < wanted) helpers.push_back(signal_free_thread<std::jthread>(work));
    work();
    helpers.clear();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace dtrain::storage
