// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/message/frame_ring.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace dtrain::comm {
namespace {

/// Frames begin at multiples of this.
constexpr std::uint64_t frame_step = 8;

std::uint64_t whole_steps(std::uint64_t bytes) {
    return (bytes + frame_step - 1) / frame_step * frame_step;
}

}  // namespace

/// Bytes since the beginning, on cache lines of their own.
struct FrameRing::Positions {
    alignas(64) std::atomic<std::uint64_t> written;
    alignas(64) std::atomic<std::uint64_t> read;
};

std::size_t FrameRing::bytes_for(std::size_t capacity) {
    return sizeof(Positions) + capacity;
}

FrameRing::FrameRing(std::byte* memory, std::size_t capacity) : memory_(memory), capacity_(capacity) {}

FrameRing::Positions& FrameRing::positions() const {
    return *std::launder(reinterpret_cast<Positions*>(memory_));
}

void FrameRing::copy_in(std::uint64_t at, std::span<const std::byte> bytes) const {
    auto* const begin = memory_ + sizeof(Positions);
    const auto first = static_cast<std::size_t>(at & (capacity_ - 1));
    const auto before_end = std::min(bytes.size(), capacity_ - first);
    if (bytes.empty()) return;
    std::memcpy(begin + first, bytes.data(), before_end);
    std::memcpy(begin, bytes.data() + before_end, bytes.size() - before_end);
}

void FrameRing::copy_out(std::uint64_t at, std::span<std::byte> bytes) const {
    const auto* const begin = memory_ + sizeof(Positions);
    const auto first = static_cast<std::size_t>(at & (capacity_ - 1));
    const auto before_end = std::min(bytes.size(), capacity_ - first);
    if (bytes.empty()) return;
    std::memcpy(bytes.data(), begin + first, before_end);
    std::memcpy(bytes.data() + before_end, begin, bytes.size() - before_end);
}

std::optional<std::size_t> FrameRing::room() const {
    const auto written = positions().written.load(std::memory_order_relaxed);
    const auto read = positions().read.load(std::memory_order_acquire);
    const auto free = capacity_ - static_cast<std::size_t>(written - read);
    if (free < sizeof(Head)) return std::nullopt;
    return free - sizeof(Head);
}

void FrameRing::write(const Head& head, std::span<const std::byte> content) {
    const auto at = positions().written.load(std::memory_order_relaxed);
    copy_in(at, std::as_bytes(std::span(&head, 1)));
    copy_in(at + sizeof(Head), content);
    positions().written.store(at + sizeof(Head) + whole_steps(content.size()), std::memory_order_release);
}

std::optional<FrameRing::Head> FrameRing::next() const {
    const auto read = positions().read.load(std::memory_order_relaxed);
    if (positions().written.load(std::memory_order_acquire) == read) return std::nullopt;
    Head head;
    copy_out(read, std::as_writable_bytes(std::span(&head, 1)));
    return head;
}

void FrameRing::take(std::span<std::byte> content) {
    const auto at = positions().read.load(std::memory_order_relaxed);
    copy_out(at + sizeof(Head), content);
    positions().read.store(at + sizeof(Head) + whole_steps(content.size()), std::memory_order_release);
}

}  // namespace dtrain::comm
