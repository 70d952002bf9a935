// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// The trainers of a server: which have joined, left, or ended without leaving. Numbers are those of
/// trainers, in the order of their ranks.
class Trainers {
  public:
    using Time = std::chrono::steady_clock::time_point;

    explicit Trainers(const std::vector<int>& ranks);

    std::size_t count() const { return trainers_.size(); }
    int rank(std::size_t trainer) const { return trainers_[trainer].rank; }
    /// "trainer 1 (rank 2)"
    std::string name(std::size_t trainer) const;

    /// @throws MessageError if the rank is no trainer's
    std::size_t number_of(int rank) const;

    /// @throws MessageError if it has joined before
    void check_may_join(std::size_t trainer) const;
    void join(std::size_t trainer) { trainers_[trainer].presence = Presence::joined; }
    /// @param kind of its message
    /// @throws MessageError unless it has joined and not left
    void check_joined(std::size_t trainer, MessageKind kind) const;
    void leave(std::size_t trainer) { trainers_[trainer].presence = Presence::gone; }
    bool have_all_left() const;

    /// Records that a trainer ends without leaving; the first one counts.
    void note_abandoned(std::size_t trainer, Time now);
    /// Fails if a trainer has ended without leaving a few seconds ago: it usually ends the job itself.
    /// @throws Error naming the trainer
    void check_none_is_lost(Time now) const;

    /// Trainers that have joined and not left or ended.
    std::vector<std::size_t> reachable() const;

  private:
    enum class Presence { expected, joined, gone };

    struct Trainer {
        int rank = 0;
        Presence presence = Presence::expected;
    };
    struct Abandoned {
        std::size_t trainer = 0;
        Time since;
    };

    std::vector<Trainer> trainers_;
    std::optional<Abandoned> abandoned_;
};

}  // namespace dtrain::ps
