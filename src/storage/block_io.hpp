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

namespace dtrain::storage {

/// Alignment that memory should have to be written without a copy.
inline constexpr std::size_t direct_alignment = 4096;

/// The 64-bit XXH3 of some bytes.
std::uint64_t xxh3(std::span<const std::byte> bytes);

/// The same for a whole file, with little of it in memory at a time. @throws std::system_error
std::uint64_t xxh3(const FileDescriptor& file);

/// The checksum of an extent: the XXH3 of the XXH3s (little endian) of its blocks of 8 MiB, so that several
/// threads can compute it.
std::uint64_t extent_sum(std::span<const std::byte> bytes);

struct WriteExtent {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::int64_t offset = 0;  ///< offset in the file
};

struct ReadExtent {
    std::byte* data = nullptr;  ///< null: only the checksum is computed
    std::size_t bytes = 0;
    std::int64_t offset = 0;
};

/// Writes extents into an existing file, with two threads if there is enough data. Blocks that are aligned in
/// the file bypass the page cache (O_DIRECT) if the file system supports it, so that writing does not wait
/// for other dirty pages. Does not sync. Does not use HDF5.
/// @return extent_sum() of each
/// @throws std::system_error naming the path
std::vector<std::uint64_t> write_extents(const std::filesystem::path& path,
                                         std::span<const WriteExtent> extents);

/// Whether the same bytes are likely to be read again.
enum class PageCache {
    kept,  ///< what was read stays in the page cache
    left   ///< it is dropped: a large file uses only its reader's own memory
};

/// A file whose extents are read by one or several threads. If they are read in file order, the kernel reads
/// ahead.
class BlockFile {
  public:
    /// @throws std::system_error naming the path
    explicit BlockFile(std::filesystem::path path, PageCache cache = PageCache::kept);

    /// Returns extent_sum() of what was read. @throws std::system_error naming the path, with code EIO if the
    /// file is too short
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

/// Reads extents and returns extent_sum() of each, with two threads if there is enough data.
/// @throws as BlockFile
std::vector<std::uint64_t> read_extents(const std::filesystem::path& path,
                                        std::span<const ReadExtent> extents);

/// Allocates all blocks of a file at once, so that a full disk is noticed early and the blocks are
/// contiguous. Does nothing if the file system does not support it. @throws std::system_error ENOSPC
void reserve_space(int fd, std::int64_t bytes);

/// Calls action(0) .. action(count - 1) in up to `threads` threads; rethrows one of the exceptions.
void in_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& action);

}  // namespace dtrain::storage
