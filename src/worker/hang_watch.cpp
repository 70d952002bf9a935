// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/hang_watch.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "base/process_tree.hpp"
#include "trace/read_operation_log.hpp"

namespace dtrain::worker {
namespace {

using std::chrono::milliseconds;

milliseconds cpu_time_below(pid_t guard) {
    milliseconds total{0};
    auto processes = descendants_of(guard);
    processes.push_back(guard);  // includes time of the orphans that it has reaped
    for (const auto pid : processes)
        if (const auto stat = stat_of(pid)) total += stat->cpu_time;
    return total;
}

}  // namespace

HangWatch::HangWatch(milliseconds timeout, std::filesystem::path stacks_file, mode_t mode,
                     Environment environment, std::filesystem::path operations)
    : stacks_file_(std::move(stacks_file)),
      mode_(mode),
      environment_(std::move(environment)),
      operations_(std::move(operations)),
      idleness_(timeout),
      next_poll_(Idleness::Clock::now()) {}

std::optional<HangWatch::Finding> HangWatch::poll(pid_t guard, pid_t program, std::uintmax_t output) {
    const bool polled = poll_due(guard, output);
    if (!idleness_.idle()) {
        collection_.reset();
        where_.reset();
        return polled && reported_idle_ ? std::optional(Finding{}) : std::nullopt;
    }
    if (!where_ && !collection_)
        collection_ = std::make_unique<StackCollection>(most_informative_first(guard, program), stacks_file_,
                                                        mode_, environment_);
    const bool collected = collection_done();
    if (!where_ || !(polled || collected)) return std::nullopt;
    reported_idle_ = true;
    return Finding{
        .idle = true, .idle_time = idleness_.idle_time(), .kind = idleness_.kind(), .where = *where_};
}

bool HangWatch::poll_due(pid_t guard, std::uintmax_t output) {
    const auto now = Idleness::Clock::now();
    if (now < next_poll_) return false;
    next_poll_ = now + idleness_.interval();
    // The CPU time of a process that its parent never waited for disappears from the sum when it ends.
    const auto shown = cpu_time_below(guard);
    cpu_time_ += std::max(milliseconds{0}, shown - cpu_time_shown_);
    cpu_time_shown_ = shown;
    Activity activity{.cpu_time = cpu_time_, .output = output};
    if (!operations_.empty()) {
        const auto progress = trace::operation_progress(operations_, now.time_since_epoch());
        activity.operations = progress.completed;
        activity.records_operations = progress.any;
        activity.waited = progress.waited;
    }
    idleness_.sample(activity, now);
    return true;
}

bool HangWatch::collection_done() {
    if (!collection_) return false;
    pollfd answer{collection_->fd(), POLLIN, 0};
    if (::poll(&answer, 1, 0) != 1) return false;
    where_ = collection_->finish();
    collection_.reset();
    return true;
}

int HangWatch::ms_to_next_poll() const {
    const auto left = std::chrono::ceil<milliseconds>(next_poll_ - Idleness::Clock::now()).count();
    return static_cast<int>(std::max<long>(0, left));
}

}  // namespace dtrain::worker
