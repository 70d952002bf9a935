// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/table/distinct_ids.hpp"
#include "ps/table/table_team.hpp"

namespace dtrain::ps {

/// What a push brings. An id may come several times: its gradients are added in the order of the batch, and
/// one update is made.
struct GradientBatch {
    std::span<const std::int64_t> ids;
    std::span<const float> gradients;    ///< ids.size() rows
    std::span<const float> shows = {};   ///< of each id, or none at all
    std::span<const float> clicks = {};  ///< as many as shows
};

/// A batch that is cut into some, one behind the other; all of them with shows, or none.
using GradientParts = std::span<const GradientBatch>;

std::size_t ids_of(GradientParts parts);

/// Makes of a batch one that can be applied. Keeps its memory from one batch to the next: what it returns
/// lasts until then.
class GradientMerge {
  public:
    explicit GradientMerge(std::size_t width) : width_(width) {}

    /// Each id once: the parts as they are, or one that has all.
    /// @param team that shares the work of a large batch, with the same bits; or null
    GradientParts merged(GradientParts parts, TableTeam* team);

    /// Without gradients that have NaN or infinity; their number is added to `rejected`.
    GradientParts without_not_finite(GradientParts parts, std::uint64_t& rejected);

  private:
    struct Buffers {
        std::vector<std::int64_t> ids;
        std::vector<float> gradients;
        std::vector<float> shows;
        std::vector<float> clicks;
    };

    void add_up(GradientParts parts, std::size_t first, std::size_t last);

    std::size_t width_;
    DistinctIds distinct_;
    Buffers finite_;
    Buffers merged_;
    GradientBatch whole_finite_;
    GradientBatch whole_;
};

}  // namespace dtrain::ps
