// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/hang_watch.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "base/process_tree.hpp"
#include "trace/read_operation_log.hpp"
#include "worker/operation_dump.hpp"
#include "worker/torch_records.hpp"

namespace dtrain::worker {
namespace {

using std::chrono::milliseconds;

// Each poll reads all of /proc: with many ranks on a node, jobs that end at once would wait for that.
constexpr milliseconds before_first_poll{1'000};

template <class Number>
Number increase(Number before, Number after) {
    return after > before ? after - before : Number{0};
}

}  // namespace

HangWatch::HangWatch(Options options)
    : options_(std::move(options)),
      idleness_(options_.limit),
      next_poll_(Idleness::Clock::now() + std::min(idleness_.interval(), before_first_poll)) {}

std::optional<HangWatch::Finding> HangWatch::poll(pid_t guard, pid_t program, std::uintmax_t output) {
    const bool polled = poll_due(guard, output);
    if (!idleness_.idle()) {
        collection_.reset();
        where_.reset();
        return polled && reported_idle_ ? std::optional(Finding{}) : std::nullopt;
    }
    note_kind();
    if (where_ && may_have_gone_on()) where_.reset();
    if (!where_ && !collection_) {
        used_before_ = used_.cpu_time;
        asked_at_ = Idleness::Clock::now();
        if (!options_.operations_file.empty())
            problem_ = dump_operations(options_.operations, options_.operations_file, options_.mode);
        collection_ = std::make_unique<StackCollection>(
            most_informative_first(guard, program), options_.stacks_file, options_.mode, options_.environment,
            options_.operations, options_.operations_file);
    }
    const bool collected = collection_done();
    if (collected && where_->last_operation && *where_->last_operation > idleness_.idle_since()) {
        idleness_.note_progress(*where_->last_operation);
        where_.reset();
        return polled && reported_idle_ ? std::optional(Finding{}) : std::nullopt;
    }
    if (!where_ || !(polled || collected)) return std::nullopt;
    reported_idle_ = true;
    return Finding{.idle = true,
                   .idle_time = idleness_.idle_time(),
                   .kind = kind_,
                   .where = *where_,
                   .is_new = collected,
                   .problem = std::exchange(problem_, {})};
}

/// From the place that is known to another one, with so little computed between them that it counts as idle.
bool HangWatch::may_have_gone_on() const {
    constexpr milliseconds noticed{10};  // the kernel counts no less
    constexpr int times_in_limit = 4;
    return used_.cpu_time - used_before_ >= noticed &&
           Idleness::Clock::now() - asked_at_ >= idleness_.limit() / times_in_limit;
}

/// While a debugger stops the program, it computes nothing: then what it did before counts.
void HangWatch::note_kind() {
    const auto now = Idleness::Clock::now();
    if (collection_) stopped_until_ = now;
    const bool may_be_stopped = now - stopped_until_ < idleness_.limit();
    if (idleness_.kind() != cluster::Inactivity::sleeps || !may_be_stopped) kind_ = idleness_.kind();
}

HangWatch::Use HangWatch::use_below(pid_t guard) {
    Use total;
    auto processes = processes_below(guard);
    processes.push_back(guard);  // includes time of the orphans that it has reaped
    for (const auto pid : processes) {
        if (const auto stat = stat_of(pid)) total.cpu_time += stat->cpu_time;
        total.cpu_wait += processor_wait_of(pid);
        total.moved += bytes_moved_by(pid);
    }
    return total;
}

bool HangWatch::poll_due(pid_t guard, std::uintmax_t output) {
    const auto now = Idleness::Clock::now();
    if (now < next_poll_) return false;
    next_poll_ = now + idleness_.interval();
    // The CPU time of a process that its parent never waited for disappears from the sum when it ends.
    auto shown = use_below(guard);
    const auto of_records = times_of_torch_records(options_.operations);
    shown.cpu_time -= std::chrono::duration_cast<milliseconds>(of_records.on_processor);
    shown.cpu_wait -= std::chrono::duration_cast<milliseconds>(of_records.ready);
    used_.cpu_time += increase(used_shown_.cpu_time, shown.cpu_time);
    used_.cpu_wait += increase(used_shown_.cpu_wait, shown.cpu_wait);
    used_.moved += increase(used_shown_.moved, shown.moved);
    used_shown_ = shown;
    Activity activity{
        .cpu_time = used_.cpu_time, .cpu_wait = used_.cpu_wait, .output = output, .moved = used_.moved};
    if (!options_.operations.empty()) {
        const auto progress = trace::operation_progress(options_.operations, now.time_since_epoch());
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
