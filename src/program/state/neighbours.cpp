// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state/neighbours.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "program/passes/aligned_memory.hpp"

namespace dtrain::program {
namespace {

std::byte* first_byte(const StateTensor& tensor) {
    return static_cast<std::byte*>(tensor.view.data);
}

}  // namespace

Neighbours neighbours_of(std::vector<StateTensor> tensors) {
    std::ranges::sort(tensors, std::less{}, first_byte);
    Neighbours all;
    for (auto& tensor : tensors) {
        const auto bytes = aligned(tensor.view.bytes());
        const bool follows = !all.segments.empty() &&
                             all.segments.back().device + all.segments.back().bytes == first_byte(tensor);
        if (!follows) all.segments.push_back({first_byte(tensor), all.bytes, 0});
        all.segments.back().bytes += bytes;
        all.offsets.push_back({std::move(tensor), all.bytes});
        all.bytes += bytes;
    }
    return all;
}

}  // namespace dtrain::program
