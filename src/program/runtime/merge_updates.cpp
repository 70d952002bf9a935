// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/merge_updates.hpp"

#include <algorithm>
#include <functional>

#include "program/passes/aligned_memory.hpp"

namespace dtrain::program {
namespace {

using kernels::KernelArguments;
using kernels::SlotTensor;

const std::byte* begin_of(const TensorView& tensor) {
    return static_cast<const std::byte*>(tensor.data);
}

bool continues(const TensorView& before, const TensorView& after) {
    return before.type == after.type && begin_of(after) == begin_of(before) + aligned(before.bytes());
}

bool is_shared(const TensorView& a, const TensorView& b) {
    return a.data == b.data;
}

// The row numbers of a sparse gradient refer to its own parameter.
bool fit(const std::vector<SlotTensor>& before, const std::vector<SlotTensor>& after) {
    return std::ranges::equal(before, after, [](const SlotTensor& a, const SlotTensor& b) {
        return a.slot == b.slot && a.slot != "rows" &&
               (is_shared(a.tensor, b.tensor) || continues(a.tensor, b.tensor));
    });
}

void extend(std::vector<SlotTensor>& tensors, const std::vector<SlotTensor>& after) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        auto& tensor = tensors[i].tensor;
        if (is_shared(tensor, after[i].tensor)) continue;
        const auto bytes = aligned(tensor.bytes()) + after[i].tensor.bytes();
        tensor.shape = {static_cast<std::int64_t>(bytes / size_of(tensor.type))};
    }
}

}  // namespace

std::vector<KernelArguments> merge_updates(std::vector<KernelArguments> updates) {
    std::ranges::sort(updates, std::less{},
                      [](const KernelArguments& update) { return begin_of(update.outputs.front().tensor); });
    std::vector<KernelArguments> merged;
    for (auto& update : updates) {
        if (!merged.empty() && fit(merged.back().inputs, update.inputs) &&
            fit(merged.back().outputs, update.outputs)) {
            extend(merged.back().inputs, update.inputs);
            extend(merged.back().outputs, update.outputs);
        } else {
            merged.push_back(std::move(update));
        }
    }
    return merged;
}

}  // namespace dtrain::program
