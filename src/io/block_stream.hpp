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
#include "io/block_io.hpp"

/// Files of many blocks, of which only a few are in memory at a time.
namespace dtrain::io {

/// Brings blocks to a file that exists, with two threads in the background, by write_extents(). One thread
/// gives it the blocks.
class BlockWriter {
  public:
    /// @param max_buffers of block_bytes each that there are at once; one is made when it is first needed
    BlockWriter(std::filesystem::path path, std::size_t block_bytes, std::size_t max_buffers);
    /// Writes what it was given.
    ~BlockWriter();
    BlockWriter(const BlockWriter&) = delete;
    BlockWriter& operator=(const BlockWriter&) = delete;

    /// Memory for a block, of any content and aligned for writing; waits for one to be written when there
    /// are `max_buffers`.
    /// @throws std::bad_alloc
    std::byte* buffer();

    /// The same, but null instead of waiting, and when there are `most` already.
    std::byte* buffer_at_once(std::size_t max);

    /// Takes back a buffer whose first `bytes` go to the file.
    void write(std::byte* buffer, std::size_t bytes, std::int64_t offset);

    /// Waits until all is written, and not synced. @returns extent_sum() of each block, in the order of
    /// write(). @throws std::system_error that a write has thrown; nothing is written after that one
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

struct BlockPlace {
    std::int64_t offset = 0;
    std::size_t bytes = 0;
};

/// Calls use(i, its bytes, their extent_sum()) for each block in order, while two threads read the next ones.
/// `use` may change the bytes.
/// @throws what read_extents() throws, and what `use` does
void read_blocks(const std::filesystem::path& path, std::span<const BlockPlace> blocks,
                 const std::function<void(std::size_t, std::span<std::byte>, std::uint64_t)>& use);

/// The same in any order, by a few threads, which also call `use`: several at once, while one after the other
/// reads.
void use_blocks(const BlockFile& file, std::span<const BlockPlace> blocks,
                const std::function<void(std::size_t, std::span<std::byte>, std::uint64_t)>& use);

}  // namespace dtrain::io
