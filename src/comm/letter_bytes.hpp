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

/// Gives a letter's memory back to this process, or to those that share it.
struct ReturnLetter {
    std::atomic<std::uint32_t>* taken = nullptr;
    std::shared_ptr<const void> keeps = {};
    void operator()(std::byte* memory) const {
        if (taken == nullptr)
            delete[] memory;
        else
            taken->store(0, std::memory_order_release);
    }
};

/// Bytes of a letter. Movable; memory is kept when it gets shorter, and is not set to zero when it grows.
class LetterBytes {
  public:
    /// Memory that several processes see, which is free for others as soon as `taken` is 0.
    struct Lent {
        std::byte* memory = nullptr;
        std::size_t capacity = 0;
        std::atomic<std::uint32_t>* taken = nullptr;
        std::shared_ptr<const void> keeps;  ///< the memory where it is
    };

    LetterBytes() = default;
    /// Gives the memory back when it ends, or grows beyond it.
    LetterBytes(Lent lent, std::size_t size)
        : memory_(lent.memory, ReturnLetter{lent.taken, std::move(lent.keeps)}),
          size_(size),
          capacity_(lent.capacity) {}

    std::byte* data() { return memory_.get(); }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::span<std::byte> bytes() { return {memory_.get(), size_}; }
    std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

    bool is_lent() const { return memory_.get_deleter().taken != nullptr; }
    /// Ends, and leaves giving back what it was lent to others.
    void leave_to_others() && { memory_.release(); }

    /// The bytes that stay keep their values.
    void resize(std::size_t size);

  private:
    std::unique_ptr<std::byte[], ReturnLetter> memory_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace dtrain::comm
