// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace dtrain {

/// Memory that Communicator::allocate() made: each rank has its own part, zeroed, at a multiple of 4096
/// bytes, and reaches the parts of the other ranks of its node. Sums over ranks are fastest there. A value:
/// copies share the memory, which lives as long as any of them on any rank and is given back when all ranks
/// allocate again or end the communicator. Like all shared memory it has no locks: a rank that reads what
/// another one writes waits for it in an operation of the communicator.
class SharedBuffer {
  public:
    SharedBuffer() = default;
    /// `parts` by rank, empty for the ranks of other nodes. `owner` keeps them.
    SharedBuffer(std::shared_ptr<void> owner, std::vector<std::span<std::byte>> parts, int rank)
        : owner_(std::move(owner)), parts_(std::move(parts)), rank_(static_cast<std::size_t>(rank)) {}

    /// This rank's own part.
    std::span<std::byte> bytes() const { return parts_.empty() ? std::span<std::byte>() : parts_[rank_]; }

    /// Another rank's part, of the same node: the very memory, not a copy.
    /// @throws Error when that rank is on another node or there is none such
    std::span<std::byte> of_rank(int rank) const;

    /// True for the ranks of this node.
    bool reaches(int rank) const;

    /// bytes() as elements; what is left of an element is not shown.
    template <class Element>
    requires std::is_trivially_copyable_v<Element> std::span<Element> as()
    const { return elements<Element>(bytes()); }

    /// of_rank() as elements.
    template <class Element>
    requires std::is_trivially_copyable_v<Element> std::span<Element> of_rank_as(int rank)
    const { return elements<Element>(of_rank(rank)); }

  private:
    template <class Element>
    static std::span<Element> elements(std::span<std::byte> part) {
        return {reinterpret_cast<Element*>(part.data()), part.size() / sizeof(Element)};
    }

    std::shared_ptr<void> owner_;
    std::vector<std::span<std::byte>> parts_;
    std::size_t rank_ = 0;
};

}  // namespace dtrain
