// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "train/phase_clock.hpp"

#include <algorithm>

namespace dtrain::train {
namespace {

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

void PhaseClock::begin_step(std::chrono::nanoseconds exchanged) {
    step_began_ = Clock::now();
    fed_ = Clock::duration(0);
    exchanged_before_ = exchanged;
}

void PhaseClock::end_step(std::chrono::nanoseconds exchanged) {
    const auto whole = seconds(Clock::now() - step_began_);
    const auto exchange = seconds(exchanged - exchanged_before_);
    const auto input = seconds(fed_);
    times_.input += input;
    times_.communicate += exchange;
    times_.compute += std::max(0.0, whole - exchange - input);
    exchanges_.push_back(static_cast<float>(exchange));
}

void PhaseClock::settle(std::span<const float> shortest) {
    for (std::size_t step = 0; step < exchanges_.size(); ++step) {
        const double waited = exchanges_[step] - shortest[step];
        times_.wait += waited;
        times_.communicate -= waited;
    }
    times_.communicate = std::max(0.0, times_.communicate);
    exchanges_.clear();
}

void PhaseClock::settle(const Communicator& ranks) {
    if (exchanges_.empty()) return;
    auto shortest = exchanges_;
    ranks.allreduce(std::span<float>(shortest), Reduction::min);
    settle(std::span<const float>(shortest));
}

}  // namespace dtrain::train
