// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/shard_updates.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::program {

void ShardUpdates::add(const std::string& operator_type, kernels::KernelArguments update) {
    const auto& gradient = update.input("gradient");
    const auto begin = static_cast<std::size_t>(static_cast<const float*>(gradient.data) - gradients_);
    auto part = std::make_unique<kernels::ElementRange>();
    update.part = part.get();
    updates_.push_back(
        {begin, gradient.size(), std::move(part), kernels::make_cpu_kernel(operator_type, update)});
}

void ShardUpdates::run(std::size_t first, std::size_t count) const {
    for (const auto& update : updates_) {
        const auto begin = std::max(first, update.begin);
        const auto end = std::min(first + count, update.begin + update.count);
        if (begin >= end) continue;
        *update.part = {begin - update.begin, end - begin};
        update.kernel->run();
    }
}

}  // namespace dtrain::program
