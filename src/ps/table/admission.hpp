// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtrain::ps {

/// About how often each of any number of ids has come, in memory of a fixed size: a counting Bloom filter
/// (Fan et al., Summary cache, IEEE/ACM Transactions on Networking 8, 2000) whose counters for one id lie in
/// one cache line (Putze, Sanders and Singler, WEA 2007) and of which only the smallest are raised (Estan and
/// Varghese, SIGCOMM 2002). It never counts too little, up to 255; ids that share all four counters are
/// counted together.
class TouchCounters {
  public:
    static constexpr std::size_t line = 64;

    /// @param counters a multiple of 64
    explicit TouchCounters(std::size_t counters) : cells_(counters) {}

    /// Counts a touch; returns how many there have been, this one included.
    /// @param hash of the id: 64 well mixed bits
    unsigned touch(std::uint64_t hash);

    /// Halves all counts, so that ids of long ago make room.
    void halve();

    /// For checkpoints.
    std::span<std::uint8_t> cells() { return cells_; }
    std::span<const std::uint8_t> cells() const { return cells_; }

    /// Forgets the touches of its lifetime.
    class Trial {
      public:
        explicit Trial(TouchCounters& counters) : counters_(counters) {}
        ~Trial();
        Trial(const Trial&) = delete;
        Trial& operator=(const Trial&) = delete;
        unsigned touch(std::uint64_t hash);

      private:
        struct Line {
            std::size_t first;
            std::array<std::uint8_t, line> cells;
        };

        TouchCounters& counters_;
        std::vector<Line> before_;
    };

  private:
    /// The first counter of the id's line.
    std::size_t line_of(std::uint64_t hash) const;

    std::vector<std::uint8_t> cells_;
};

/// Whether a hash is among the given share of all.
bool is_chosen(std::uint64_t hash, double probability);

}  // namespace dtrain::ps
