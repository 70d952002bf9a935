// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace dtrain::benchmarks {

/// Calls per second in steady state: the median over blocks of a fixed number of calls, about 0.15 s each.
/// `agree` (the identity on one rank) makes all ranks use the same number of calls.
template <class Step, class Agree>
double steady_rate(const Step& step, const Agree& agree, int blocks = 10) {
    using Clock = std::chrono::steady_clock;
    const auto seconds_of = [&](long calls) {
        const auto begin = Clock::now();
        for (long call = 0; call < calls; ++call) step();
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    seconds_of(3);
    long calls = 1;
    for (double seconds = 0; seconds < 0.05; calls *= 2) seconds = agree(seconds_of(calls));
    calls = std::max(1L, static_cast<long>(agree(0.15 / (seconds_of(calls) / static_cast<double>(calls)))));
    std::vector<double> rates;
    for (int block = 0; block < blocks; ++block)
        rates.push_back(static_cast<double>(calls) / seconds_of(calls));
    std::nth_element(rates.begin(), rates.begin() + blocks / 2, rates.end());
    return rates[static_cast<std::size_t>(blocks / 2)];
}

}  // namespace dtrain::benchmarks
