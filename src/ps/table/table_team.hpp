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

/// Threads that share the work of large batches, for any number of tables of one owner. A batch is split into
/// pieces and processed in rounds of many pieces. Work that involves only the row itself is done by all
/// threads; work on shared data is left for the caller, who does it in the order of the ids. So the results
/// are bit for bit those of one thread.
class TableTeam {
  public:
    static constexpr std::size_t piece = 1024;  ///< number of ids
    static constexpr std::size_t round = 64 * piece;

    /// Smaller batches are done by one thread: they take 0.1 ms, and a sleeping thread may not wake up in
    /// time.
    static constexpr std::size_t min_batch = 2 * piece;

    /// @param threads at least 1, including the caller's
    explicit TableTeam(int threads) : team_(threads), left_(round / piece) {}

    int threads() const { return team_.threads(); }

    bool is_for(std::size_t ids) const { return threads() > 1 && ids >= min_batch; }

    /// Calls function(part, parts) for as many parts as there are threads, on any of the threads.
    template <class Function>
    void in_parts(const Function& function) {
        const auto parts = static_cast<std::size_t>(threads());
        team_.run(parts, [&](std::size_t part) { function(part, parts); });
    }

    enum class Fate : std::uint8_t { open, inserted, repeated, absent };

    /// An id with work left to do.
    struct Left {
        std::size_t i = 0;  ///< index in the batch
        FoundRow row;
        Fate fate = Fate::open;
    };
    using LeftOnes = std::vector<Left>;

    /// Calls function(begin, end, left) for each piece of the ids `first` to `last`, at most one round, on
    /// any thread; `left` is an empty list for this piece.
    template <class Function>
    void find(std::size_t first, std::size_t last, const Function& function) {
        pieces_ = (last - first + piece - 1) / piece;
        team_.run(pieces_, [&](std::size_t number) {
            left_[number].clear();
            const auto begin = first + number * piece;
            function(begin, std::min(begin + piece, last), left_[number]);
        });
    }

    /// Calls function(left) for each item left by the last find(), in the order of the ids, on the caller's
    /// thread.
    template <class Function>
    void for_each_left(const Function& function) {
        for (std::size_t number = 0; number < pieces_; ++number)
            for (auto& left : left_[number]) function(left);
    }

    /// Calls function(all items left of a piece) for each piece of the last find(), on any thread.
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
    std::vector<LeftOnes> left_;  // per piece of a round
    std::size_t pieces_ = 0;      // in this round
};

}  // namespace dtrain::ps
