// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <dtrain/tensor.hpp>

namespace dtrain::gpu {

/// A range of elements of one of many tensors, of a suitable size for one block.
template <class Element>
struct Piece {
    Element* x;
    std::size_t count;
};

/// Divides all elements of the tensors into pieces.
template <class Element>
std::vector<Piece<Element>> pieces_of(const std::vector<TensorView>& tensors) {
    constexpr std::size_t longest = 8192;
    std::vector<Piece<Element>> pieces;
    for (const auto& tensor : tensors) {
        const auto x = tensor.as<Element>();
        for (std::size_t first = 0; first < x.size(); first += longest)
            pieces.push_back({x.data() + first, std::min(longest, x.size() - first)});
    }
    return pieces;
}

}  // namespace dtrain::gpu
