// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/table/gradient_batch.hpp"
#include "ps/table/regularised_gradient.hpp"
#include "ps/table/row_layout.hpp"

namespace dtrain::ps {

/// The update of one row by a push.
/// @tparam Update an alternative of RowUpdate @tparam Decay an alternative of Regularisation
template <class Update, class Decay>
class RowStep {
  public:
    /// @param layout must outlive this, as must the data that the batch refers to
    RowStep(const RowLayout& layout, const GradientBatch& batch, std::uint32_t day, const Update& update,
            const Decay& decay)
        : layout_(&layout), batch_(batch), day_(day), update_(update), decay_(decay) {}

    /// @param i index of the row's id in the batch
    /// @param room scratch space for one gradient
    void operator()(std::size_t i, std::byte* row, std::span<float> room) const {
        if (layout_->has_statistics()) {
            const auto before = layout_->statistics_of(row);
            layout_->set_statistics(row,
                                    {before.shows + (batch_.shows.empty() ? 0 : batch_.shows[i]),
                                     before.clicks + (batch_.clicks.empty() ? 0 : batch_.clicks[i]), day_});
        }
        const auto width = layout_->width();
        auto* weights = RowLayout::weights_of(row);
        update_(weights, weights + width, regularised(decay_, &batch_.gradients[i * width], weights, room),
                width);
    }

  private:
    const RowLayout* layout_;
    GradientBatch batch_;
    std::uint32_t day_;
    Update update_;
    Decay decay_;
};

}  // namespace dtrain::ps
