// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Server: which trainers wait for which others, and for how long.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ps/server/server.hpp"

namespace dtrain::ps {

bool Server::is_due(const MessageHeader& asked) const {
    switch (options_.mode) {
        case ServerMode::sync:
            return steps_ >= asked.step;
        case ServerMode::async:
        case ServerMode::geo:
            return true;
        case ServerMode::half_async:
            if (asked.kind == MessageKind::save) return true;
            break;
    }
    // asked.step is unchecked input; the subtraction below must not overflow.
    if (asked.step <= 0) return true;
    return std::ranges::all_of(trainers_, [&](const Trainer& other) {
        return other.presence == Presence::gone || other.ended >= asked.step - options_.staleness;
    });
}

std::vector<int> Server::missing_trainers() const {
    std::vector<int> missing;
    if (waiting_pulls() == 0) return missing;
    std::int64_t max = 0;
    for (const auto& trainer : trainers_) max = std::max(max, trainer.ended);
    for (std::size_t number = 0; number < trainers_.size(); ++number)
        if (trainers_[number].presence != Presence::gone && trainers_[number].ended < max)
            missing.push_back(static_cast<int>(number));
    return missing;
}

void Server::give_up_after(std::chrono::seconds deadline) {
    if (deadline.count() == 0) return;
    const auto late = missing_trainers();
    const auto now = std::chrono::steady_clock::now();
    const auto waits_too_long = [&](const WaitingPull& pull) { return now - pull.since >= deadline; };
    bool does_one_wait = false;
    for (std::size_t number = 0; number < trainers_.size(); ++number) {
        // A late trainer may itself be waiting: it requests the rows of its next step while it computes this
        // one.
        const bool is_late_itself = std::ranges::find(late, static_cast<int>(number)) != late.end();
        does_one_wait |= !is_late_itself && std::ranges::any_of(trainers_[number].waiting, waits_too_long);
    }
    if (late.empty() || !does_one_wait) return;
    std::vector<std::string> missing;
    for (const int trainer : late)
        missing.push_back(
            fmt::format("trainer {} (rank {})", trainer, trainers_[static_cast<std::size_t>(trainer)].rank));
    broken_ = fmt::format("waited {} s in vain for the gradients of {}", deadline.count(),
                          fmt::join(missing, ", "));
    report_failure(broken_);
    refuse_waiting();
}

void Server::note_abandoned(std::size_t trainer) {
    if (trainers_[trainer].presence == Presence::gone || abandoned_) return;
    abandoned_ = {trainer, std::chrono::steady_clock::now()};
}

void Server::end_when_abandoned() const {
    constexpr std::chrono::seconds for_the_trainer{3};
    if (!abandoned_ || std::chrono::steady_clock::now() - abandoned_->since < for_the_trainer) return;
    throw Error(fmt::format("trainer {} (rank {}) has ended without leave(): it failed, or forgot it",
                            abandoned_->trainer, trainers_[abandoned_->trainer].rank));
}

void Server::report_end(std::string_view why) {
    for (std::size_t trainer = 0; trainer < trainers_.size(); ++trainer)
        if (trainers_[trainer].presence == Presence::here && !(abandoned_ && abandoned_->trainer == trainer))
            reply(trainer, {.kind = MessageKind::failed}, why);
}

}  // namespace dtrain::ps
