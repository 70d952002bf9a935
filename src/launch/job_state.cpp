// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/job_state.hpp"

#include <algorithm>

namespace dtrain::launch {

using cluster::Event;

void JobState::take(const Event& event) {
    if (event.rank < 0 || event.rank >= size()) return;
    auto& rank = ranks_[static_cast<std::size_t>(event.rank)];
    switch (event.kind) {
        case Event::Kind::started:
            if (!rank.started) rank.started = event;
            break;
        case Event::Kind::warning:
        case Event::Kind::alive:
            break;
        case Event::Kind::output:
            rank.output = event.text;
            break;
        case Event::Kind::idle:
            rank.idle = event;
            break;
        case Event::Kind::active:
            rank.idle.reset();
            break;
        case Event::Kind::exited:
        case Event::Kind::stopped:
        case Event::Kind::done:
        case Event::Kind::trouble:
        case Event::Kind::port_taken:
            if (rank.ended) break;
            rank.ended = event;
            rank.stopped_by_us = stop_asked_ && event.kind == Event::Kind::stopped;
            break;
    }
}

bool JobState::all_done() const {
    for (int rank = 0; rank < size(); ++rank) {
        const auto& state = ranks_[static_cast<std::size_t>(rank)];
        const bool done = state.ended && state.ended->kind == Event::Kind::done;
        if (!done && !(companions_.contains(rank) && state.stopped_by_us)) return false;
    }
    return true;
}

bool JobState::work_done() const {
    for (int rank = 0; rank < size(); ++rank) {
        const auto& ended = ranks_[static_cast<std::size_t>(rank)].ended;
        if (!companions_.contains(rank) && !(ended && ended->kind == Event::Kind::done)) return false;
    }
    return true;
}

bool JobState::all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.ended.has_value(); });
}

int JobState::up() const {
    return static_cast<int>(std::count_if(ranks_.begin(), ranks_.end(),
                                          [](const Rank& rank) { return rank.started && !rank.ended; }));
}

int JobState::done() const {
    return static_cast<int>(std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
        return rank.ended && rank.ended->kind == Event::Kind::done;
    }));
}

std::vector<Event> JobState::hung(std::chrono::milliseconds patience) const {
    std::int64_t last_end_us = 0;
    for (const auto& rank : ranks_)
        if (rank.ended) last_end_us = std::max(last_end_us, rank.ended->time_us);
    const auto decisive_from_us = last_end_us + std::chrono::microseconds(patience).count();
    std::vector<Event> out;
    for (const auto& rank : ranks_) {
        if (rank.ended) continue;
        if (!rank.idle || rank.idle->time_us < decisive_from_us) return {};
        out.push_back(*rank.idle);
    }
    return out;
}

std::vector<Event> JobState::failures() const {
    std::vector<Event> out;
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
