// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/block_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/aligned_memory.hpp"

namespace dtrain::eager {
namespace {

constexpr std::size_t min = 64;

std::shared_ptr<std::byte> allocate_on_host(std::size_t bytes) {
    return {make_aligned_bytes<min>(bytes).release(), AlignedDelete<min>()};
}

}  // namespace

std::size_t block_size(std::size_t bytes) {
    if (bytes <= 4 * min) return std::max(min, aligned_to<min>(bytes));
    const auto quarter = std::bit_floor(bytes - 1) / 4;
    return (bytes + quarter - 1) / quarter * quarter;
}

BlockPool::BlockPool() : allocate_(allocate_on_host) {}

std::shared_ptr<std::byte> BlockPool::take(std::size_t bytes) {
    const auto size = block_size(bytes);
    auto& blocks = by_size_[size];
    if (blocks.free.empty()) {
        blocks.all.push_back(allocate_(size));
        blocks.free.insert(blocks.all.size() - 1);
        bytes_ += size;
    }
    const auto number = *blocks.free.begin();
    blocks.free.erase(blocks.free.begin());
    return {blocks.all[number].get(), [pool = shared_from_this(), &blocks, number](std::byte* /*memory*/) {
                blocks.free.insert(number);
            }};
}

}  // namespace dtrain::eager
