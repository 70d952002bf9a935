// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/host_sums.hpp"

#include <algorithm>

#include "kernels/loops/loops.hpp"

namespace dtrain::program {

void HostSums::set(std::size_t slot) {
    std::ranges::copy(gradients_, sums_[slot].begin());
}

void HostSums::add(std::size_t slot) {
    kernels::loops::add(gradients_.data(), sums_[slot].data(), gradients_.size());
}

void HostSums::merge(std::size_t slot) {
    kernels::loops::add(sums_[slot + 1].data(), sums_[slot].data(), gradients_.size());
}

std::vector<std::span<const float>> HostSums::on_host(std::size_t count) {
    return {sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void HostSums::give_back(std::span<const float> values) {
    std::ranges::copy(values, gradients_.begin());
}

}  // namespace dtrain::program
