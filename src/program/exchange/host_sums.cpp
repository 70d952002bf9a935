// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/host_sums.hpp"

#include <algorithm>

#include "kernels/loops/loops.hpp"

namespace dtrain::program {

void HostSums::set(std::size_t place) {
    std::ranges::copy(gradients_, sums_[place].begin());
}

void HostSums::add(std::size_t place) {
    kernels::loops::add(gradients_.data(), sums_[place].data(), gradients_.size());
}

void HostSums::merge(std::size_t place) {
    kernels::loops::add(sums_[place + 1].data(), sums_[place].data(), gradients_.size());
}

std::vector<std::span<const float>> HostSums::on_host(std::size_t count) {
    return {sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void HostSums::give_back(std::span<const float> values) {
    std::ranges::copy(values, gradients_.begin());
}

}  // namespace dtrain::program
