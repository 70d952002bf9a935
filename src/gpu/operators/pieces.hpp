// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <dtrain/tensor.hpp>

namespace dtrain::gpu {

/// Elements of one of many tensors, as many as a block does well.
template <class Element>
struct Piece {
    Element* x;
    std::size_t count;
};

/// All elements of the tensors.
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
