// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/work_team.hpp"
#include "ps/table/row_index.hpp"

namespace dtrain::ps {

/// Threads that share the work of large batches, for any number of tables of one owner. A batch is cut into
/// pieces, and goes through in rounds of many pieces: what needs nothing but the row itself is done by all
/// threads; what changes something that rows share is left for the caller, which does it in the order of the
/// ids. So every bit is that of one thread.
class TableTeam {
  public:
    static constexpr std::size_t piece = 1024;  ///< ids
    static constexpr std::size_t round = 64 * piece;

    /// Smaller batches are done by one thread: they take a tenth of a millisecond, and a thread that sleeps
    /// may not have come by then.
    static constexpr std::size_t min_batch = 2 * piece;

    /// @param threads 1 or more, the caller's included
    explicit TableTeam(int threads) : team_(threads), left_(round / piece) {}

    int threads() const { return team_.threads(); }

    bool is_for(std::size_t ids) const { return threads() > 1 && ids >= min_batch; }

    /// Calls function(part, parts) for as many parts as there are threads, on any of them.
    template <class Function>
    void in_parts(const Function& function) {
        const auto parts = static_cast<std::size_t>(threads());
        team_.run(parts, [&](std::size_t part) { function(part, parts); });
    }

    enum class Fate : std::uint8_t { open, inserted, repeated, absent };

    /// An id for which something is left to do.
    struct Left {
        std::size_t i = 0;  ///< in the batch
        FoundRow row;
        Fate fate = Fate::open;
    };
    using LeftOnes = std::vector<Left>;

    /// Calls function(begin, end, left) for the pieces of the ids `first` to `last`, a round at most, on any
    /// threads; `left` is empty, and the piece's own.
    template <class Function>
    void find(std::size_t first, std::size_t last, const Function& function) {
        pieces_ = (last - first + piece - 1) / piece;
        team_.run(pieces_, [&](std::size_t number) {
            left_[number].clear();
            const auto begin = first + number * piece;
            function(begin, std::min(begin + piece, last), left_[number]);
        });
    }

    /// Calls function(left) for what the last find() left, in the order of the ids, on the caller's thread.
    template <class Function>
    void for_each_left(const Function& function) {
        for (std::size_t number = 0; number < pieces_; ++number)
            for (auto& left : left_[number]) function(left);
    }

    /// Calls function(all left of a piece) for the pieces of the last find(), on any threads.
    template <class Function>
    void finish(const Function& function) {
        std::size_t count = 0;
        for (std::size_t number = 0; number < pieces_; ++number) count += left_[number].size();
        if (count < min_batch)
            for (std::size_t number = 0; number < pieces_; ++number) function(left_[number]);
        else
            team_.run(pieces_, [&](std::size_t number) { function(left_[number]); });
    }

  private:
    WorkTeam team_;
    std::vector<LeftOnes> left_;  // of each piece of a round
    std::size_t pieces_ = 0;      // of this round
};

}  // namespace dtrain::ps
