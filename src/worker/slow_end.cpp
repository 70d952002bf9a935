// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/slow_end.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/first_sentences.hpp"
#include "base/process_tree.hpp"
#include "worker/held_process.hpp"

namespace dtrain::worker {
namespace {

constexpr std::chrono::milliseconds time_to_end{1'000};  // of what gets SIGKILL
constexpr std::size_t max_named = 3;

std::string sentence_of(pid_t pid) {
    const auto name = process_name(pid);
    const auto why = why_no_signal_ends(pid);
    return fmt::format("process {}{} has not ended {:.0f} s after SIGKILL{}", pid,
                       name.empty() ? "" : " (" + name + ")",
                       std::chrono::duration<double>(time_to_end).count(), why.empty() ? "" : ": " + why);
}

/// A zombie whose threads have not ended, either.
bool has_ended(pid_t pid) {
    const auto stat = stat_of(pid);
    return !stat || (stat->ended && thread_in_kernel(pid) == 0);
}

}  // namespace

void SlowEnd::begin(std::chrono::milliseconds grace, Clock::time_point now) {
    if (!warn_at_) warn_at_ = now + grace + time_to_end;
}

int SlowEnd::ms_to_warning(Clock::time_point now) const {
    if (!warn_at_ || has_warned_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*warn_at_ - now).count();
    return static_cast<int>(std::max<long>(0, left));
}

std::string SlowEnd::warning(pid_t guard, Clock::time_point now) {
    if (!warn_at_ || has_warned_ || now < *warn_at_) return {};
    has_warned_ = true;
    auto left = processes_below(guard);
    std::erase_if(left, has_ended);
    return first_sentences(left, max_named, sentence_of);
}

}  // namespace dtrain::worker
