// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtrain::ps {

/// Approximate counts of how often each of any number of ids has occurred, in memory of fixed size: a
/// counting Bloom filter (Fan et al., Summary cache, IEEE/ACM Transactions on Networking 8, 2000) with all
/// counters of an id in one cache line (Putze, Sanders and Singler, WEA 2007) and conservative update, which
/// increments only the smallest ones (Estan and Varghese, SIGCOMM 2002). It never undercounts, up to 255; ids
/// that share all four counters are counted together.
class TouchCounters {
  public:
    static constexpr std::size_t line = 64;

    /// @param counters must be a multiple of 64
    explicit TouchCounters(std::size_t counters) : cells_(counters) {}

    /// Counts a touch; returns the count including it.
    /// @param hash of the id: 64 well-mixed bits
    unsigned touch(std::uint64_t hash);

    /// Halves all counts, so that ids not seen lately make room.
    void halve();

    /// All counters, for checkpoints.
    std::span<std::uint8_t> cells() { return cells_; }
    std::span<const std::uint8_t> cells() const { return cells_; }

    /// Counts touches, and undoes those of its lifetime in its destructor.
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
    /// Index of the first counter of the id's line.
    std::size_t line_of(std::uint64_t hash) const;

    std::vector<std::uint8_t> cells_;
};

/// Whether a hash falls into the given fraction of all hashes.
bool is_chosen(std::uint64_t hash, double probability);

}  // namespace dtrain::ps
