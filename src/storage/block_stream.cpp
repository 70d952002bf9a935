// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/block_stream.hpp"

#include <algorithm>
#include <array>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "base/signal_free_thread.hpp"

namespace dtrain::storage {
namespace {

constexpr std::size_t threads_of_a_stream = 2;
constexpr std::size_t blocks_ahead = 2 * threads_of_a_stream;
constexpr std::size_t threads_of_users = 3;

std::size_t largest_of(std::span<const BlockRange> blocks) {
    return std::ranges::max(blocks, {}, &BlockRange::bytes).bytes;
}

/// State shared by the threads of read_blocks().
class ReadAhead {
  public:
    ReadAhead(const std::filesystem::path& path, std::span<const BlockRange> blocks)
        : file_(path), blocks_(blocks) {
        const auto largest = largest_of(blocks);
        const auto threads = std::min(threads_of_a_stream, blocks.size());
        for (auto& slot : std::span(slots_).first(std::min(blocks_ahead, blocks.size())))
            slot.memory = make_aligned_bytes<direct_alignment>(largest);
        while (threads_.size() < threads)
            threads_.push_back(signal_free_thread<std::jthread>([this] { work(); }));
    }

    ~ReadAhead() {
        const std::scoped_lock lock(mutex_);
        is_over_ = true;
        changed_.notify_all();
    }
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    template <class Use>
    void use_next(const Use& use) {
        auto& slot = slots_[used_ % blocks_ahead];
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return slot.is_full || failure_; });
            if (failure_) std::rethrow_exception(failure_);
        }
        use(used_, std::span(slot.memory.get(), blocks_[used_].bytes), slot.sum);
        const std::scoped_lock lock(mutex_);
        slot.is_full = false;
        ++used_;
        changed_.notify_all();
    }

  private:
    struct Slot {
        AlignedBytes<direct_alignment> memory;
        std::uint64_t sum = 0;
        bool is_full = false;
    };

    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(
                lock, [&] { return is_over_ || begun_ == blocks_.size() || begun_ < used_ + blocks_ahead; });
            if (is_over_ || begun_ == blocks_.size()) return;
            const auto& block = blocks_[begun_];
            auto& slot = slots_[begun_ % blocks_ahead];
            ++begun_;
            lock.unlock();
            try {
                slot.sum = file_.read({slot.memory.get(), block.bytes, block.offset});
                lock.lock();
                slot.is_full = true;
            } catch (...) {
                lock.lock();
                failure_ = std::current_exception();
                is_over_ = true;
            }
            changed_.notify_all();
        }
    }

    BlockFile file_;
    std::span<const BlockRange> blocks_;
    std::array<Slot, blocks_ahead> slots_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t begun_ = 0;
    std::size_t used_ = 0;
    std::exception_ptr failure_;
    bool is_over_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace

BlockWriter::BlockWriter(std::filesystem::path path, std::size_t block_bytes, std::size_t max_buffers)
    : path_(std::move(path)), block_bytes_(block_bytes), max_buffers_(max_buffers) {
    while (threads_.size() < threads_of_a_stream)
        threads_.push_back(signal_free_thread<std::jthread>([this] { work(); }));
}

BlockWriter::~BlockWriter() {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
}

std::byte* BlockWriter::free_buffer(std::size_t max) {
    if (free_.empty() && buffers_.size() < max) {
        free_.reserve(max_buffers_);
        buffers_.push_back(make_aligned_bytes<direct_alignment>(block_bytes_));
        return buffers_.back().get();
    }
    if (free_.empty()) return nullptr;
    auto* const buffer = free_.back();
    free_.pop_back();
    return buffer;
}

std::byte* BlockWriter::buffer_at_once(std::size_t max) {
    const std::scoped_lock lock(mutex_);
    return free_buffer(std::min(max, max_buffers_));
}

std::byte* BlockWriter::buffer() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty() || buffers_.size() < max_buffers_; });
    return free_buffer(max_buffers_);
}

void BlockWriter::write(std::byte* buffer, std::size_t bytes, std::int64_t offset) {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back({sums_.size(), buffer, bytes, offset});
    sums_.push_back(0);
    changed_.notify_all();
}

std::vector<std::uint64_t> BlockWriter::finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == sums_.size(); });
    if (failure_) std::rethrow_exception(failure_);
    return sums_;
}

void BlockWriter::work() {
    // Low priority: a thread that has just waited for the disk would otherwise preempt the computing threads.
    constexpr int below_others = 10;
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), below_others);
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return is_over_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        const auto job = jobs_.front();
        jobs_.pop_front();
        if (!failure_) {
            lock.unlock();
            std::exception_ptr failure;
            std::uint64_t sum = 0;
            try {
                const WriteExtent extent{job.buffer, job.bytes, job.offset};
                sum = write_extents(path_, {&extent, 1}).front();
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            sums_[job.number] = sum;
            if (failure) failure_ = failure;
        }
        free_.push_back(job.buffer);
        ++done_;
        changed_.notify_all();
    }
}

void read_blocks(const std::filesystem::path& path, std::span<const BlockRange> blocks,
                 const std::function<void(std::size_t, std::span<std::byte>, std::uint64_t)>& use) {
    if (blocks.empty()) return;
    ReadAhead ahead(path, blocks);
    for (std::size_t i = 0; i < blocks.size(); ++i) ahead.use_next(use);
}

void use_blocks(const BlockFile& file, std::span<const BlockRange> blocks,
                const std::function<void(std::size_t, std::span<std::byte>, std::uint64_t)>& use) {
    if (blocks.empty()) return;
    const auto largest = largest_of(blocks);
    std::mutex turn;
    std::size_t next = 0;
    const auto take_turns = [&](std::byte* memory) {
        for (std::unique_lock lock(turn); next < blocks.size(); lock.lock()) {
            const auto i = std::exchange(next, blocks.size());  // if reading fails, no further block is read
            const auto& [offset, bytes] = blocks[i];
            const auto sum = file.read({memory, bytes, offset});
            next = i + 1;
            lock.unlock();
            use(i, {memory, bytes}, sum);
        }
    };
    in_threads(std::min(threads_of_users, blocks.size()), static_cast<int>(threads_of_users),
               [&](std::size_t /*thread*/) {
                   const auto memory = make_aligned_bytes<direct_alignment>(largest);
                   try {
                       take_turns(memory.get());
                   } catch (...) {
                       const std::scoped_lock lock(turn);
                       next = blocks.size();
                       throw;
                   }
               });
}

}  // namespace dtrain::storage
