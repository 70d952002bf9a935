// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "base/files.hpp"

namespace dtrain::io {

/// What memory should be aligned to so that it is written without a copy.
inline constexpr std::size_t direct_alignment = 4096;

/// XXH3's 64 bit of some bytes.
std::uint64_t xxh3(std::span<const std::byte> bytes);

/// The same of a whole file, of which a few pages are in memory at a time. @throws std::system_error
std::uint64_t xxh3(const FileDescriptor& file);

/// The sum of an extent: XXH3 of the XXH3 (little endian) of its blocks of 8 MiB, so that threads can make it
/// together.
std::uint64_t extent_sum(std::span<const std::byte> bytes);

struct WriteExtent {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::int64_t offset = 0;  ///< in the file
};

struct ReadExtent {
    std::byte* data = nullptr;  ///< null: only its sum is wanted
    std::size_t bytes = 0;
    std::int64_t offset = 0;
};

/// Writes extents into a file that exists, with two threads where there is enough to do. Blocks that are
/// aligned in the file go to the disk past the page cache (O_DIRECT) where the file system can, so that
/// writing does not wait for other dirty pages. Nothing is synced. Does not use HDF5.
/// @return extent_sum() of each
/// @throws std::system_error naming the path.
std::vector<std::uint64_t> write_extents(const std::filesystem::path& path,
                                         std::span<const WriteExtent> extents);

/// Whether anyone is going to read the same bytes again.
enum class PageCache {
    kept,  ///< what was read stays there
    left   ///< it does not: a large file takes no other memory than its reader gives it
};

/// A file whose extents are read by one thread after the other, or by several at once. Where they are read in
/// the order of the file, the kernel reads ahead.
class BlockFile {
  public:
    /// @throws std::system_error naming the path
    explicit BlockFile(std::filesystem::path path, PageCache cache = PageCache::kept);

    /// Returns extent_sum() of what it read. @throws std::system_error naming the path; the code is EIO when
    /// the file ends too early
    std::uint64_t read(const ReadExtent& extent) const;

  private:
    friend std::vector<std::uint64_t> read_extents(const std::filesystem::path& path,
                                                   std::span<const ReadExtent> extents);

    std::uint64_t read_block(std::byte* data, std::size_t bytes, std::int64_t offset) const;
    void read_fully(std::byte* data, std::size_t bytes, std::int64_t offset) const;

    std::filesystem::path path_;
    FileDescriptor file_;
    PageCache cache_;
};

/// Reads extents and returns extent_sum() of each, with two threads where there is enough to do.
/// @throws as BlockFile
std::vector<std::uint64_t> read_extents(const std::filesystem::path& path,
                                        std::span<const ReadExtent> extents);

/// Gives a file its blocks at once, so that a disk that is too small is noticed before, and the blocks lie
/// together; a file system that cannot gets them while writing. @throws std::system_error ENOSPC
void reserve_space(int fd, std::int64_t bytes);

/// Calls action(0) .. action(count - 1), by up to `threads` threads; rethrows one of the exceptions.
void in_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& action);

}  // namespace dtrain::io
