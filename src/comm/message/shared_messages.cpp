// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/message/shared_messages.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::comm {
namespace {

// Maximum bytes of a segment. Messages that do not fit are sent by MPI.
constexpr std::size_t max_of_a_rank = std::size_t{16} << 20U;
// Maximum number of blocks per size; a free one is found by linear search.
constexpr std::size_t max_blocks = 256;

std::size_t bytes_of(std::size_t size) {
    return SharedMessages::min_bytes << size;
}

std::size_t size_for(std::size_t bytes) {
    return static_cast<std::size_t>(
        std::bit_width((std::max(bytes, SharedMessages::min_bytes) - 1) / SharedMessages::min_bytes));
}

}  // namespace

/// Header of a block, followed by the message's bytes.
struct alignas(64) SharedMessages::Block {
    std::atomic<LentTo> lent_to;

    std::byte* message() { return reinterpret_cast<std::byte*>(this + 1); }
};

std::unique_ptr<SharedMessages> SharedMessages::open(MPI_Comm node, const NodeMap& map) {
    const auto& on_node = map.neighbours();
    if (on_node.size() == 1) return nullptr;
    auto shared = share_segments(node, max_of_a_rank);
    if (shared.empty()) return nullptr;
    std::vector<std::shared_ptr<SharedSegment>> segments(map.node_of.size());
    for (std::size_t i = 0; i < on_node.size(); ++i)
        segments[static_cast<std::size_t>(on_node[i])] = std::move(shared[i]);
    const auto rank = on_node[static_cast<std::size_t>(map.node_rank)];
    return std::make_unique<SharedMessages>(rank, std::move(segments));
}

SharedMessages::SharedMessages(int rank, std::vector<std::shared_ptr<SharedSegment>> segments)
    : segments_(std::move(segments)), own_(segments_[static_cast<std::size_t>(rank)]) {}

std::optional<MessageBytes> SharedMessages::memory(std::size_t bytes) {
    if (bytes < min_bytes || bytes > max_bytes) return std::nullopt;
    const auto fits = size_for(bytes);
    for (auto size = fits; size < std::min(fits + wider, sizes); ++size)
        if (auto found = free_block(size, bytes)) return found;
    return cut(fits) ? free_block(fits, bytes) : std::nullopt;
}

std::optional<MessageBytes> SharedMessages::free_block(std::size_t size, std::size_t bytes) {
    for (auto* block : blocks_[size]) {
        if (block->lent_to.load(std::memory_order_acquire) != LentTo::nobody) continue;
        block->lent_to.store(LentTo::writer, std::memory_order_relaxed);
        return MessageBytes({block->message(), bytes_of(size), &block->lent_to, own_}, bytes);
    }
    return std::nullopt;
}

bool SharedMessages::cut(std::size_t size) {
    const auto bytes = sizeof(Block) + bytes_of(size);
    if (blocks_[size].size() == max_blocks || !own_->provide(cut_, bytes)) return false;
    auto* block = new (own_->bytes().data() + cut_) Block{};
    // The newest block is found last: the first ones are likely to be in the cache.
    blocks_[size].push_back(block);
    cut_ += bytes;
    return true;
}

std::optional<SharedMessages::Location> SharedMessages::location_for(int to,
                                                                     const MessageBytes& content) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(own_->bytes().data());
    const auto message = reinterpret_cast<std::uintptr_t>(content.bytes().data());
    const bool is_in_segment = message >= begin && message - begin < own_->bytes().size();
    if (!is_in_segment || segments_[static_cast<std::size_t>(to)] == nullptr) return std::nullopt;
    return Location{message - begin, content.size()};
}

MessageBytes SharedMessages::message(int from, const Location& location) const {
    const auto& segment = segments_[static_cast<std::size_t>(from)];
    const auto room = segment == nullptr ? 0 : segment->bytes().size();
    const auto refuse = [&] {
        throw Error(
            fmt::format("rank {} says that a message of {} bytes lies at {} of its {} bytes of memory", from,
                        location.size, location.offset, room));
    };
    if (location.offset < sizeof(Block) || location.offset > room || location.size > room - location.offset ||
        location.offset % alignof(Block) != 0)
        refuse();
    auto* block =
        std::launder(reinterpret_cast<Block*>(segment->bytes().data() + location.offset - sizeof(Block)));
    if (block->lent_to.load(std::memory_order_acquire) != LentTo::reader) refuse();
    return {{block->message(), location.size, &block->lent_to, segment}, location.size};
}

}  // namespace dtrain::comm
