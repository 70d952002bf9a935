// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/program.hpp>

#include "kernels/chain_link.hpp"

namespace dtrain::program {

/// Elements that a chain works on at a time: a few tensors of that length stay in the first-level cache.
inline constexpr std::size_t chain_block = 2048;

/// Element-wise operators that follow each other, each of which reads what one before it makes. They run
/// block by block: one pass over memory.
struct ElementChain {
    std::size_t first = 0;  ///< operator
    std::size_t count = 0;  ///< of operators

    std::size_t last() const { return first + count - 1; }
    friend bool operator==(const ElementChain&, const ElementChain&) = default;
};

struct ElementChains {
    std::vector<ElementChain> chains;
    /// What nobody outside of its chain reads: there is memory for a block of it.
    std::set<std::string, std::less<>> inner;

    /// The chain that an operator belongs to, or nothing.
    const ElementChain* of(std::size_t number) const;
};

/// The chains of a program whose tensors are longer than a block. Pure.
/// @param barrier an operator before which chains end
/// @param keep variables that are nobody's inner ones
ElementChains find_element_chains(const Program& program, std::size_t barrier,
                                  const std::set<std::string, std::less<>>& keep);

using kernels::ChainLink;

/// All operators of a chain, block by block. The results have the bits that the operators make one by one.
/// @param inner tells by the tensor's memory whether there is only a block of it
std::unique_ptr<kernels::Kernel> make_chain_kernel(const std::vector<ChainLink>& links,
                                                   const std::set<const void*>& inner);

}  // namespace dtrain::program
