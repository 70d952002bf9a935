// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/staged_rows.hpp"

#include <type_traits>
#include <utility>

namespace dtrain::program {

StagedRows::StagedRows(std::shared_ptr<kernels::Gpu> gpu, const std::vector<ExchangedRows>& device)
    : gpu_(std::move(gpu)) {
    for (const auto& [gradient, made_rows, made, rows, values] : device)
        host_.push_back({gradient, copied(made_rows, made_), copied(made, made_), copied(rows, sums_),
                         copied(values, sums_)});
}

template <class Value>
std::span<Value> StagedRows::copied(std::span<Value> device, std::vector<Copy>& copies) {
    using Written = std::remove_const_t<Value>;
    memory_.push_back(gpu_->allocate_host(device.size_bytes()));
    auto* const host = memory_.back().get();
    copies.push_back({const_cast<Written*>(device.data()), host, device.size_bytes()});
    return {reinterpret_cast<Written*>(host), device.size()};
}

void StagedRows::take() {
    for (const auto& [device, host, bytes] : made_) gpu_->to_host(host, device, bytes);
    gpu_->finish();
}

void StagedRows::give_back() {
    for (const auto& [device, host, bytes] : sums_) gpu_->to_gpu(device, host, bytes);
}

}  // namespace dtrain::program
