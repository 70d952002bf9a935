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

/// Elements that a chain processes at a time: a few tensors of that length stay in the first-level cache.
inline constexpr std::size_t chain_block = 2048;

/// Consecutive element-wise operators, each of which reads the output of an earlier one. They run block by
/// block: one pass over memory.
struct ElementChain {
    std::size_t first = 0;  ///< index of the first operator
    std::size_t count = 0;  ///< number of operators

    std::size_t last() const { return first + count - 1; }
    friend bool operator==(const ElementChain&, const ElementChain&) = default;
};

struct ElementChains {
    std::vector<ElementChain> chains;
    /// Variables that are read only within their chain: there is memory for one block of each.
    std::set<std::string, std::less<>> inner;

    /// The chain that an operator belongs to, or null.
    const ElementChain* of(std::size_t number) const;
};

/// The chains of a program whose tensors are longer than a block. Pure. @param barrier an operator before
/// which chains end @param keep variables that must not become inner ones
ElementChains find_element_chains(const Program& program, std::size_t barrier,
                                  const std::set<std::string, std::less<>>& keep);

using kernels::ChainLink;

/// One kernel for all operators of a chain, block by block. The results are bitwise identical to those of the
/// single operators. @param inner memory of the tensors that have only a block of memory
std::unique_ptr<kernels::Kernel> make_chain_kernel(const std::vector<ChainLink>& links,
                                                   const std::set<const void*>& inner);

}  // namespace dtrain::program
