// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dtrain::comm {

/// One direction of what two ranks say to each other, in memory that both map: frames, one after the other.
/// One process writes and one reads; neither waits.
class FrameRing {
  public:
    struct Head {
        std::uint32_t kind = 0;
        std::int32_t tag = 0;
        std::uint64_t bytes = 0;    ///< of the message, or of what follows
        std::uint64_t id = 0;       ///< of an operation
        std::uint64_t address = 0;  ///< or of another operation
    };

    /// @param capacity bytes for frames: a power of two
    static std::size_t bytes_for(std::size_t capacity);
    /// @param memory bytes_for(capacity), zero before both first use it, at a multiple of 64
    FrameRing(std::byte* memory, std::size_t capacity);

    /// The longest content for which there is room now; none: not even for a head. For the writer.
    std::optional<std::size_t> room() const;
    /// @param content no longer than room()
    void write(const Head& head, std::span<const std::byte> content);

    /// The next frame; none if there is none. For the reader.
    std::optional<Head> next() const;
    /// Copies content of the frame next() and removes the frame. @param content as long as what follows its
    /// head
    void take(std::span<std::byte> content);

  private:
    struct Positions;
    Positions& positions() const;
    void copy_in(std::uint64_t at, std::span<const std::byte> bytes) const;
    void copy_out(std::uint64_t at, std::span<std::byte> bytes) const;

    std::byte* memory_;
    std::size_t capacity_;
};

}  // namespace dtrain::comm
