// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state/host_values.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "program/state/state_access.hpp"

namespace dtrain::program {

HostValues::HostValues(State state, const std::vector<std::string>& names)
    : state_(std::move(state)), on_gpu_(StateAccess::on_gpu(state_)) {
    const auto all = on_gpu_ != nullptr ? StateAccess::on_device(state_) : StateAccess::on_host(state_);
    std::vector<StateTensor> chosen;
    for (const auto& name : names) {
        const auto found = std::ranges::find(all, name, &StateTensor::name);
        if (found == all.end()) throw Error(fmt::format("the state has no '{}'", name));
        chosen.push_back(*found);
        views_.push_back(found->view);
    }
    if (on_gpu_ == nullptr || chosen.empty()) return;
    device_ = neighbours_of(std::move(chosen));
    host_ = on_gpu_->gpu()->allocate_host(device_.bytes);
    for (std::size_t i = 0; i < names.size(); ++i)
        views_[i].data = host_.get() + std::ranges::find(device_.offsets, names[i], [](const auto& each) {
                                           return each.tensor.name;
                                       })->host;
}

void HostValues::bring() {
    if (on_gpu_ == nullptr) return;
    on_gpu_->read_on_device();
    for (const auto& [device, host, bytes] : device_.segments)
        on_gpu_->gpu()->to_host(host_.get() + host, device, bytes);
    on_gpu_->gpu()->finish();
}

}  // namespace dtrain::program
