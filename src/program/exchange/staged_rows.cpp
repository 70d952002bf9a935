// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/staged_rows.hpp"

#include <span>
#include <utility>

namespace dtrain::program {

StagedRows::StagedRows(std::shared_ptr<kernels::Gpu> gpu, const std::vector<ExchangedRows>& device)
    : gpu_(std::move(gpu)) {
    const auto copy_of = [&](auto part) { return kernels::HostCopy(gpu_, std::as_bytes(part)); };
    for (const auto& each : device) {
        const auto& staged = staged_.emplace_back(Staged{each, copy_of(each.made_rows), copy_of(each.made),
                                                         copy_of(each.rows), copy_of(each.values)});
        host_.push_back({each.gradient, staged.made_rows.on_host(each.made_rows),
                         staged.made.on_host(each.made), staged.rows.on_host(each.rows),
                         staged.values.on_host(each.values)});
    }
}

void StagedRows::take() {
    for (const auto& each : staged_) {
        each.made_rows.download(each.device.made_rows);
        each.made.download(each.device.made);
    }
    gpu_->finish();
}

void StagedRows::give_back() {
    for (const auto& each : staged_) {
        each.rows.upload(each.device.rows);
        each.values.upload(each.device.values);
    }
}

}  // namespace dtrain::program
