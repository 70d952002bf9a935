// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/learned_limit.hpp"

#include <algorithm>

namespace dtrain::worker {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t enough_operations = 100;
constexpr std::uint64_t start = 1;  // init, MPI_Init: what a program loads and compiles follows
constexpr int margin = 10;
constexpr int margin_of_long_times = 2;

}  // namespace

void LearnedLimit::sample(std::uint64_t operations, std::uintmax_t output, Clock::time_point now) {
    const bool unchanged = last_ && last_->operations == operations && last_->output == output;
    if (unchanged) {
        last_->last_seen = now;
        return;
    }
    if (last_ && last_->operations > start) {
        // What changed between two samples may have been quiet for all of that time, or hardly at all.
        const auto quiet = std::chrono::duration_cast<milliseconds>(last_->last_seen - last_->first_seen);
        longest_quiet_ = std::max(longest_quiet_, quiet);
    }
    last_ = {operations, output, now, now};
}

milliseconds LearnedLimit::value() const {
    if (!last_ || last_->operations < enough_operations) return margin * shortest_;
    const auto longest = std::max(margin * shortest_, margin_of_long_times * longest_quiet_);
    return std::clamp(margin * longest_quiet_, shortest_, longest);
}

}  // namespace dtrain::worker
