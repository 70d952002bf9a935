// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/shared_buffer.hpp>

namespace dtrain {

bool SharedBuffer::reaches(int rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < parts_.size() &&
           parts_[static_cast<std::size_t>(rank)].data() != nullptr;
}

std::span<std::byte> SharedBuffer::of_rank(int rank) const {
    if (!reaches(rank))
        throw Error(fmt::format("the shared memory of rank {} cannot be reached: {}", rank,
                                rank >= 0 && static_cast<std::size_t>(rank) < parts_.size()
                                    ? "it is on another node"
                                    : "there is no such rank"));
    return parts_[static_cast<std::size_t>(rank)];
}

}  // namespace dtrain
