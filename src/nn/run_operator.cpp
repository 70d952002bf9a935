// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/run_operator.hpp"

#include <memory>
#include <utility>

#include "nn/eager_device.hpp"
#include "nn/lru_cache.hpp"

namespace dtrain::eager {
namespace {

using Key = std::vector<std::uint64_t>;  // number of the operator, addresses
using Kernels = LruCache<Key, std::unique_ptr<kernels::Kernel>>;

Kernels& prepared() {
    // Never destroyed: objects of oneDNN that kernels use may be destroyed before.
    static auto& of_process = *new Kernels(2048);
    return of_process;
}

}  // namespace

void run_operator(const NumberedOperator& op, std::vector<kernels::SlotTensor> inputs,
                  std::vector<kernels::SlotTensor> outputs) {
    Key key{op.number};
    for (const auto* tensors : {&inputs, &outputs})
        for (const auto& each : *tensors) key.push_back(reinterpret_cast<std::uintptr_t>(each.tensor.data));
    prepared()
        .get(key,
             [&] {
                 return own_device().make_kernel(op.op.type,
                                                 {std::move(inputs), std::move(outputs), op.op.attributes});
             })
        ->run();
}

std::size_t kernels_prepared() {
    return prepared().made();
}

}  // namespace dtrain::eager
