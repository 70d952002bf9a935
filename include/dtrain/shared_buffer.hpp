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

/// Memory allocated by Communicator::allocate(): each rank has its own part, zero-initialised and aligned to
/// 4096 bytes, and can access the parts of the other ranks on its node. Reductions over this memory are
/// fastest. A value type: copies share the memory, which lives as long as any copy on any rank; it is freed
/// when all ranks allocate again or end the communicator. Like all shared memory it has no locks: a rank that
/// reads what another rank writes must synchronise through an operation of the communicator.
class SharedBuffer {
  public:
    SharedBuffer() = default;
    /// `parts` are indexed by rank and empty for ranks of other nodes. `owner` keeps the memory alive.
    SharedBuffer(std::shared_ptr<void> owner, std::vector<std::span<std::byte>> parts, int rank)
        : owner_(std::move(owner)), parts_(std::move(parts)), rank_(static_cast<std::size_t>(rank)) {}

    /// This rank's own part.
    std::span<std::byte> bytes() const { return parts_.empty() ? std::span<std::byte>() : parts_[rank_]; }

    /// Another rank's part on the same node: the memory itself, not a copy.
    /// @throws Error if that rank is on another node or does not exist
    std::span<std::byte> of_rank(int rank) const;

    /// True for the ranks of this node.
    bool reaches(int rank) const;

    /// bytes() as elements; a partial element at the end is left out.
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
