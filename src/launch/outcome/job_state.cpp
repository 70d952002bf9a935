// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/job_state.hpp"

#include <algorithm>
#include <limits>

namespace dtrain::launch {

using cluster::Event;
using cluster::Inactivity;

void JobState::take(const Event& event) {
    if (event.rank < 0 || event.rank >= size()) return;
    auto& rank = ranks_[static_cast<std::size_t>(event.rank)];
    switch (event.kind) {
        case Event::Kind::started:
            if (!rank.started) {
                rank.started = event;
                last_start_us_ = std::max(last_start_us_, event.time_us);
                if (!rank.ended) ++up_;
            }
            break;
        case Event::Kind::warning:
        case Event::Kind::alive:
        case Event::Kind::stacks:
        case Event::Kind::stacks_end:
        case Event::Kind::console:
            break;
        case Event::Kind::output:
            rank.output = event.text;
            break;
        case Event::Kind::state:
            if (!stop_asked_) rank.state = event.state;
            break;
        case Event::Kind::gpus:
            rank.gpus = event.text;
            break;
        case Event::Kind::gpu_error:
            if (std::ranges::none_of(gpu_errors_, [&](const Event& known) {
                    return known.host == event.host && known.text == event.text;
                }))
                gpu_errors_.push_back(event);
            break;
        case Event::Kind::idle:
            if (!rank.idle && !rank.ended) ++idle_;
            rank.idle = std::make_shared<const cluster::Event>(event);
            break;
        case Event::Kind::active:
            if (rank.idle && !rank.ended) --idle_;
            rank.idle.reset();
            // What it did when the job was found to hang is still to be told.
            if (!stop_asked_) rank.state.clear();
            break;
        case Event::Kind::exited:
        case Event::Kind::stopped:
        case Event::Kind::done:
        case Event::Kind::issue:
        case Event::Kind::port_taken:
            if (!rank.ended) note_end(rank, event);
            break;
    }
}

void JobState::note_end(Rank& rank, const Event& event) {
    const bool service_rank = service_ranks_.contains(event.rank);
    rank.ended = event;
    rank.stopped_by_us = stop_asked_ && event.kind == Event::Kind::stopped;
    last_end_us_ = std::max(last_end_us_, event.time_us);
    ++ended_;
    if (rank.started) --up_;
    if (rank.idle) --idle_;
    if (event.kind == Event::Kind::done) {
        ++done_;
        if (service_rank) ++done_service_ranks_;
    } else if (rank.stopped_by_us) {
        if (service_rank) ++stopped_service_ranks_;
    } else {
        ++failed_;
    }
}

std::vector<Event> JobState::hung(std::chrono::milliseconds timeout) const {
    if (idle_ == 0 || idle_ < up_) return {};
    std::vector<Event> out;
    bool any_waits = false;
    bool all_began = true;
    auto earliest_us = std::numeric_limits<std::int64_t>::max();
    for (const auto& rank : ranks_) {
        if (rank.ended) continue;
        if (!rank.idle) {
            if (rank.started) return {};
            all_began = false;
            continue;
        }
        earliest_us = std::min(earliest_us, rank.idle->time_us);
        any_waits = any_waits || rank.idle->code != static_cast<int>(Inactivity::computes);
        out.push_back(*rank.idle);
    }
    const auto have_passed_since = [&](std::int64_t time_us, std::chrono::microseconds time) {
        return earliest_us >= time_us + time.count();
    };
    const bool has_hung = any_waits && have_passed_since(last_end_us_, timeout) &&
                          (all_began || have_passed_since(last_start_us_, std::max<std::chrono::milliseconds>(
                                                                              timeout, slow_start)));
    return has_hung ? out : std::vector<Event>();
}

std::vector<Event> JobState::failures() const {
    std::vector<Event> out;
    if (!any_failed()) return out;
    for (const auto& rank : ranks_)
        if (rank.ended && rank.ended->kind != Event::Kind::done && !rank.stopped_by_us)
            out.push_back(*rank.ended);
    std::stable_sort(out.begin(), out.end(),
                     [](const Event& a, const Event& b) { return a.time_us < b.time_us; });
    return out;
}

std::vector<int> JobState::stopped() const {
    std::vector<int> out;
    for (int rank = 0; rank < size(); ++rank)
        if (ranks_[static_cast<std::size_t>(rank)].stopped_by_us) out.push_back(rank);
    return out;
}

std::vector<int> JobState::silent() const {
    std::vector<int> out;
    for (int rank = 0; rank < size(); ++rank)
        if (!ranks_[static_cast<std::size_t>(rank)].ended) out.push_back(rank);
    return out;
}

const std::optional<Event>& JobState::start_of(int rank) const {
    return ranks_.at(static_cast<std::size_t>(rank)).started;
}

const std::optional<Event>& JobState::end_of(int rank) const {
    return ranks_.at(static_cast<std::size_t>(rank)).ended;
}

}  // namespace dtrain::launch
