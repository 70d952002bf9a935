// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace dtrain::comm {

/// Owner of memory that several processes share. The stores that pass it on have release semantics, and
/// taking it acquires: nothing else orders the bytes of a message between processes.
enum class LentTo : std::uint32_t {
    nobody,
    writer,  ///< the rank that requested it
    reader   ///< the receiver of the message
};
static_assert(std::atomic<LentTo>::is_always_lock_free);

/// Returns a message's memory to this process, or to the processes that share it.
struct ReturnMessage {
    std::atomic<LentTo>* lent_to = nullptr;
    std::shared_ptr<const void> keeps = {};
    void operator()(std::byte* memory) const {
        if (lent_to == nullptr)
            delete[] memory;
        else
            lent_to->store(LentTo::nobody, std::memory_order_release);
    }
};

/// Bytes of a message. Movable; shrinking keeps the memory, and growing does not zero it.
class MessageBytes {
  public:
    /// Memory that several processes share.
    struct Lent {
        std::byte* memory = nullptr;
        std::size_t capacity = 0;
        std::atomic<LentTo>* lent_to = nullptr;
        std::shared_ptr<const void> keeps;  ///< keeps the memory alive
    };

    MessageBytes() = default;
    /// Returns the memory when it is destroyed, or grows beyond it.
    MessageBytes(Lent lent, std::size_t size)
        : memory_(lent.memory, ReturnMessage{lent.lent_to, std::move(lent.keeps)}),
          size_(size),
          capacity_(lent.capacity) {}

    std::byte* data() { return memory_.get(); }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::span<std::byte> bytes() { return {memory_.get(), size_}; }
    std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

    bool is_lent() const { return memory_.get_deleter().lent_to != nullptr; }
    /// Destroys this object and leaves the lent memory to the message's reader, who returns it.
    void leave_to_reader() && {
        memory_.get_deleter().lent_to->store(LentTo::reader, std::memory_order_release);
        memory_.release();
    }

    /// The bytes that remain keep their values.
    void resize(std::size_t size);

  private:
    std::unique_ptr<std::byte[], ReturnMessage> memory_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace dtrain::comm
