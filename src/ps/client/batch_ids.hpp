// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "kernels/loops/integers.hpp"

namespace dtrain::ps {

/// The validated ids of a batch that have rows: all except padding.
class BatchIds {
  public:
    BatchIds(kernels::Integers ids, std::int64_t padding, std::int64_t rows, std::string variable)
        : ids_(ids), padding_(padding), rows_(rows), variable_(std::move(variable)) {}

    /// Reads the batch. @throws Error if an id is out of range
    void read() {
        found_.clear();
        positions_.clear();
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            const auto id = ids_[i];
            if (is_padding(id)) continue;
            if (rows_ >= 0 && (id < 0 || id >= rows_))
                throw Error(fmt::format("'{}' has the id {}, and the table has rows 0 to {}", variable_, id,
                                        rows_ - 1));
            found_.push_back(id);
            positions_.push_back(i);
        }
    }

    std::span<const std::int64_t> ids() const { return found_; }
    /// For each of ids() its index in the batch.
    std::span<const std::size_t> positions() const { return positions_; }
    bool is_whole() const { return found_.size() == ids_.size(); }

    /// Copies the rows of ids() to their positions in the batch; padding becomes zeros.
    void spread(std::span<const float> rows, std::span<float> batch) const {
        const auto width = batch.size() / ids_.size();
        std::ranges::fill(batch, 0.0F);
        for (std::size_t i = 0; i < positions_.size(); ++i)
            std::copy_n(&rows[i * width], width, &batch[positions_[i] * width]);
    }

    /// Copies the rows of ids() from the batch to `rows`. @returns `rows`
    std::span<const float> gathered(std::span<const float> batch, std::vector<float>& rows) const {
        const auto width = batch.size() / ids_.size();
        rows.resize(positions_.size() * width);
        for (std::size_t i = 0; i < positions_.size(); ++i)
            std::copy_n(&batch[positions_[i] * width], width, &rows[i * width]);
        return rows;
    }

  private:
    bool is_padding(std::int64_t id) const { return padding_ >= 0 && id == padding_; }

    kernels::Integers ids_;
    std::int64_t padding_;
    std::int64_t rows_;
    std::string variable_;
    std::vector<std::int64_t> found_;
    std::vector<std::size_t> positions_;
};

}  // namespace dtrain::ps
