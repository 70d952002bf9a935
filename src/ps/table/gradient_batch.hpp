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

/// The rows of a push. An id may occur several times: its gradients are added in batch order, followed by one
/// update.
struct GradientBatch {
    std::span<const std::int64_t> ids;
    std::span<const float> gradients;    ///< ids.size() rows
    std::span<const float> shows = {};   ///< one per id, or empty
    std::span<const float> clicks = {};  ///< as many as shows
};

/// A batch in consecutive parts; either all of them have shows, or none.
using GradientParts = std::span<const GradientBatch>;

std::size_t ids_of(GradientParts parts);

/// Prepares a batch for the update. Reuses its memory: what it returns is valid until the next batch.
class GradientMerge {
  public:
    explicit GradientMerge(std::size_t width) : width_(width) {}

    /// Merges repeated ids: returns the parts unchanged if there are none, else a single part.
    /// @param team shares the work of a large batch, with the same bits; may be null
    GradientParts merged(GradientParts parts, TableTeam* team);

    /// Removes gradients that contain NaN or infinity, and adds their number to `rejected`.
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
