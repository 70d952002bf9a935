// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/staged_rows.hpp"

#include <utility>

namespace dtrain::program {

StagedRows::StagedRows(std::shared_ptr<kernels::Gpu> gpu, const std::vector<ExchangedRows>& device)
    : gpu_(std::move(gpu)) {
    for (const auto& [gradient, made_rows, made, rows, values] : device)
        host_.push_back(
            {gradient, add(made_rows, made_rows_), add(made, made_), add(rows, rows_), add(values, values_)});
}

template <class Value>
std::span<std::remove_const_t<Value>> StagedRows::add(std::span<Value> device, AllCopied<Value>& all) {
    all.push_back({device, {gpu_, std::as_bytes(device)}});
    return all.back().host.on_host(device);
}

void StagedRows::take() {
    for (const auto& [device, host] : made_rows_) host.download(device);
    for (const auto& [device, host] : made_) host.download(device);
    gpu_->finish();
}

void StagedRows::give_back() {
    for (const auto& [device, host] : rows_) host.upload(device);
    for (const auto& [device, host] : values_) host.upload(device);
}

}  // namespace dtrain::program
