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

/// The rows of a table that a geo-mode trainer has looked up: its own weights and optimizer state, and the
/// weights last known of the servers. The difference between the two has not been sent.
class LocalRows {
  public:
    LocalRows(std::size_t width, Optimizer optimizer, Regularisation regularisation);

    /// Pointers to rows, which stay valid as rows are added.
    using Rows = std::span<std::byte* const>;

    /// The rows of these ids, which may repeat; new ones are zeros. The span is valid until a few more
    /// batches were looked up.
    Rows find(std::span<const std::int64_t> ids);

    /// Returns the rows that were not requested since the last take_changes(), without duplicates, and marks
    /// them as requested.
    std::vector<std::byte*> ask(Rows rows);

    static std::vector<std::int64_t> ids_of(Rows rows);

    /// Sets the servers' current values and adds the changes that were not sent. Unchanged rows get the
    /// servers' bits.
    /// @param values rows.size() * width
    void renew(Rows rows, std::span<const float> values);

    void read(Rows rows, std::span<float> out) const;

    /// Adds gradients of this step; those of the same row are added in order.
    void add_gradients(Rows rows, std::span<const float> gradients);

    /// Updates the rows with the step's gradients.
    /// @param step 1, 2, ...
    void update(double learning_rate, std::int64_t step);

    /// The optimizer's own learning rate.
    double learning_rate() const;

    /// Computes `fraction` times the changes since the previous call, with the sign of a gradient. These rows
    /// are then marked as requested, and all others as not requested.
    /// @returns the changed rows, without duplicates
    std::vector<std::byte*> take_changes(float fraction, std::vector<float>& changes);

    /// Marks all rows as not requested. Call only when no changes are left to send.
    void clear_requested() { ++period_; }

    /// From now on, a row that was requested once is never requested again: nobody else changes it.
    void keep_all() { keeps_all_ = true; }

    /// Floats of optimizer state per row.
    std::size_t state_width() const;

    /// Optimizer states of rows.
    struct States {
        std::vector<std::int64_t> ids;
        std::vector<float> values;  ///< state_width() floats per id
    };
    States states() const;

    /// Creates rows with these states; like new rows, they are not yet requested.
    /// @throws UsageError if the sizes do not match, or a row already exists; some rows may have been created
    /// then
    void restore(const States& states);

    std::size_t size() const { return index_.size(); }

  private:
    struct Header {
        std::uint32_t requested_in;  ///< period in which it was last requested; 0: never
        std::uint32_t position;      ///< 1-based index among the rows with gradients of this step; 0: none
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
    std::array<Batch, 4> batches_;  ///< the last batches looked up
    std::size_t oldest_batch_ = 0;

    std::vector<std::byte*> step_rows_;
    std::vector<float> step_gradients_;
    std::vector<std::byte*> changed_;
    std::vector<float> decayed_;
};

}  // namespace dtrain::ps
