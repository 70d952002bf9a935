// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/server/push.hpp"
#include "ps/table/gradient_batch.hpp"

namespace dtrain::ps {

/// What is pushed to one table in a step. Rows stay in their messages, unless they come with shows and
/// clicks.
class RowBatch {
  public:
    explicit RowBatch(const ParameterShapes::Table& table) : table_(table) {}

    /// @param source number of the trainer
    /// @param pushed its message must live until clear()
    void add(int source, const RowGradients& pushed);
    GradientParts gradients() const { return parts_; }
    /// True if everything was pushed by one trainer that asserts that each id occurs once.
    bool has_each_id_once() const { return has_each_id_once_; }
    void clear();

  private:
    void add_apart(std::span<const float> rows);

    ParameterShapes::Table table_;
    std::vector<GradientBatch> parts_;
    std::optional<int> source_;
    bool has_each_id_once_ = true;
    // Merged from all pushes; only for a table with statistics:
    std::vector<std::int64_t> ids_;
    std::vector<float> gradients_;
    std::vector<float> shows_;
    std::vector<float> clicks_;
};

}  // namespace dtrain::ps
