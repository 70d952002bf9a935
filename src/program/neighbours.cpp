// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/neighbours.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "program/aligned_memory.hpp"

namespace dtrain::program {
namespace {

std::byte* begin_of(const StateTensor& tensor) {
    return static_cast<std::byte*>(tensor.view.data);
}

}  // namespace

Neighbours neighbours_of(std::vector<StateTensor> tensors) {
    std::ranges::sort(tensors, std::less{}, begin_of);
    Neighbours all;
    for (auto& tensor : tensors) {
        const auto bytes = aligned(tensor.view.bytes());
        const bool follows = !all.stretches.empty() &&
                             all.stretches.back().there + all.stretches.back().bytes == begin_of(tensor);
        if (!follows) all.stretches.push_back({begin_of(tensor), all.bytes, 0});
        all.stretches.back().bytes += bytes;
        all.places.push_back({std::move(tensor), all.bytes});
        all.bytes += bytes;
    }
    return all;
}

}  // namespace dtrain::program
