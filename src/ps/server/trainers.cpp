// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/trainers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dtrain::ps {

Trainers::Trainers(const std::vector<int>& ranks) {
    for (const int rank : ranks) trainers_.push_back({rank});
}

std::string Trainers::name(std::size_t trainer) const {
    return fmt::format("trainer {} (rank {})", trainer, rank(trainer));
}

std::size_t Trainers::number_of(int rank) const {
    const auto found = std::ranges::find(trainers_, rank, &Trainer::rank);
    if (found == trainers_.end()) throw MessageError(fmt::format("rank {} is no trainer of this job", rank));
    return static_cast<std::size_t>(found - trainers_.begin());
}

void Trainers::check_may_join(std::size_t trainer) const {
    if (trainers_[trainer].presence != Presence::expected)
        throw MessageError(fmt::format("a second 'join' of trainer {}", trainer));
}

void Trainers::check_joined(std::size_t trainer, MessageKind kind) const {
    const auto presence = trainers_[trainer].presence;
    if (presence == Presence::joined) return;
    throw MessageError(fmt::format("a '{}' of trainer {}, which has {}", to_string(kind), trainer,
                                   presence == Presence::gone ? "left" : "not joined"));
}

bool Trainers::have_all_left() const {
    return std::ranges::all_of(trainers_,
                               [](const Trainer& each) { return each.presence == Presence::gone; });
}

void Trainers::note_abandoned(std::size_t trainer, Time now) {
    if (trainers_[trainer].presence == Presence::gone || abandoned_) return;
    abandoned_ = {trainer, now};
}

void Trainers::check_none_is_lost(Time now) const {
    constexpr std::chrono::seconds for_the_trainer{3};
    if (!abandoned_ || now - abandoned_->since < for_the_trainer) return;
    throw Error(
        fmt::format("{} has ended without leave(): it failed, or forgot it", name(abandoned_->trainer)));
}

std::vector<std::size_t> Trainers::reachable() const {
    std::vector<std::size_t> found;
    for (std::size_t trainer = 0; trainer < trainers_.size(); ++trainer)
        if (trainers_[trainer].presence == Presence::joined &&
            !(abandoned_ && abandoned_->trainer == trainer))
            found.push_back(trainer);
    return found;
}

}  // namespace dtrain::ps
