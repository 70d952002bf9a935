// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dtrain/optimizer.hpp>

#include "ps/table/row_index.hpp"

namespace dtrain::ps {

/// The rows of a table that a trainer of geo mode has looked up: weights and optimizer state of its own, and
/// the weights that the servers had. What lies between these two has not been sent.
class LocalRows {
  public:
    LocalRows(std::size_t width, Optimizer optimizer, Regularisation regularisation);

    /// Rows stay where they are.
    using Rows = std::span<std::byte* const>;

    /// The rows of these ids, which may repeat; new ones are zeros. Valid until some more batches were found.
    Rows find(std::span<const std::int64_t> ids);

    /// Of these rows those that were not asked for since the last changes were taken, each once, and they
    /// count as asked for.
    std::vector<std::byte*> ask(Rows rows);

    static std::vector<std::int64_t> ids_of(Rows rows);

    /// What the servers have now: the changes that were not sent are added to it. Rows without such have the
    /// servers' bits.
    /// @param values rows.size() * width
    void renew(Rows rows, std::span<const float> values);

    void read(Rows rows, std::span<float> out) const;

    /// Of this step; those of a row are added in their order.
    void add_gradients(Rows rows, std::span<const float> gradients);

    /// Updates with the step's gradients.
    /// @param step 1, 2, ...
    void update(double learning_rate, std::int64_t step);

    /// The optimizer's own.
    double learning_rate() const;

    /// This share of what was changed since it was last called, with the sign of a gradient. The rows count
    /// as asked for, and all others no longer.
    /// @returns the rows, each once
    std::vector<std::byte*> take_changes(float share, std::vector<float>& changes);

    /// All rows are to be asked for again. To be called when nothing is left to send.
    void forget_asked() { ++period_; }

    /// Rows that are asked for once are never asked for again: nobody else changes them.
    void keep_all() { keeps_all_ = true; }

    /// Floats that the optimizer keeps of a row.
    std::size_t state_width() const;

    /// What the optimizer keeps.
    struct States {
        std::vector<std::int64_t> ids;
        std::vector<float> values;  ///< state_width() of each
    };
    States states() const;

    /// Makes rows with these states, to be asked for as new ones are.
    /// @throws UsageError when the sizes do not fit, or there is such a row; some rows may be there then
    void restore(const States& states);

    std::size_t size() const { return index_.size(); }

  private:
    struct Header {
        std::uint32_t asked_in;  ///< period; 0: never
        std::uint32_t place;     ///< among the rows with gradients of this step, from 1 on; 0: none
        std::uint32_t changed;
    };
    struct Parts {
        Header* header;
        float* weights;
        float* base;
        float* state;
    };
    Parts parts_of(std::byte* row) const;
    std::byte* make(const HashedId& id);

    std::size_t width_;
    Optimizer optimizer_;
    Regularisation regularisation_;
    RowIndex index_;
    std::uint32_t period_ = 1;
    bool keeps_all_ = false;

    struct Batch {
        std::vector<std::int64_t> ids;
        std::vector<std::byte*> rows;
    };
    std::array<Batch, 4> batches_;  ///< found last
    std::size_t oldest_batch_ = 0;

    std::vector<std::byte*> step_rows_;
    std::vector<float> step_gradients_;
    std::vector<std::byte*> changed_;
    std::vector<float> decayed_;
};

}  // namespace dtrain::ps
