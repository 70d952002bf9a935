// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/aligned_memory.hpp"
#include "storage/block_io.hpp"

/// Reading and writing files of many blocks, only a few of which are in memory at a time.
namespace dtrain::storage {

/// Writes blocks into an existing file with two background threads, by write_extents(). Blocks must be passed
/// by one thread.
class BlockWriter {
  public:
    /// @param max_buffers maximum number of buffers of block_bytes each; allocated when first needed
    BlockWriter(std::filesystem::path path, std::size_t block_bytes, std::size_t max_buffers);
    /// Writes all blocks passed so far.
    ~BlockWriter();
    BlockWriter(const BlockWriter&) = delete;
    BlockWriter& operator=(const BlockWriter&) = delete;

    /// A buffer for a block, with undefined content and aligned for writing; waits for a block to be written
    /// if `max_buffers` are in use.
    /// @throws std::bad_alloc
    std::byte* buffer();

    /// The same, but returns null instead of waiting, or if `max` buffers are already in use.
    std::byte* buffer_at_once(std::size_t max);

    /// Takes back a buffer and writes its first `bytes` into the file.
    void write(std::byte* buffer, std::size_t bytes, std::int64_t offset);

    /// Waits until everything is written; does not sync. @returns extent_sum() of each block, in the order of
    /// write().
    /// @throws std::system_error of the first failed write; nothing is written after it
    std::vector<std::uint64_t> finish();

  private:
    struct Job {
        std::size_t number;
        std::byte* buffer;
        std::size_t bytes;
        std::int64_t offset;
    };

    std::byte* free_buffer(std::size_t max);
    void work();

    std::filesystem::path path_;
    std::size_t block_bytes_;
    std::size_t max_buffers_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<AlignedBytes<direct_alignment>> buffers_;
    std::vector<std::byte*> free_;
    std::deque<Job> jobs_;
    std::vector<std::uint64_t> sums_;
    std::size_t done_ = 0;
    std::exception_ptr failure_;
    bool is_over_ = false;
    std::vector<std::jthread> threads_;
};

struct BlockRange {
    std::int64_t offset = 0;
    std::size_t bytes = 0;
};

/// Calls use(i, bytes, their extent_sum()) for each block in order, while two threads read the next ones.
/// `use` may modify the bytes.
/// @throws what read_extents() throws, and what `use` throws
void read_blocks(const std::filesystem::path& path, std::span<const BlockRange> blocks,
                 const std::function<void(std::size_t, std::span<std::byte>, std::uint64_t)>& use);

/// The same in any order, with a few threads that read, one at a time, and call `use`, several at the same
/// time.
void use_blocks(const BlockFile& file, std::span<const BlockRange> blocks,
                const std::function<void(std::size_t, std::span<std::byte>, std::uint64_t)>& use);

}  // namespace dtrain::storage
