// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {

/// The elements of a parameter that a gradient belongs to: all of them, a part, or the rows listed in the
/// input "rows" (-1: none); with rows, a part is a part of their list.
class UpdatedRows {
  public:
    explicit UpdatedRows(const KernelArguments& arguments)
        : size_(arguments.input("gradient").size()), part_(arguments.part) {
        if (!arguments.has_input("rows")) return;
        rows_ = arguments.in<std::int64_t>("rows");
        width_ = size_ / rows_.size();
    }

    /// Calls function(first element in the parameter, first element in the gradient, number of elements).
    template <class Function>
    void for_each(const Function& function) const {
        const ElementRange all{0, width_ == 0 ? size_ : rows_.size()};
        const auto [first, count] = part_ != nullptr ? *part_ : all;
        if (width_ == 0) {
            function(first, first, count);
            return;
        }
        for (std::size_t i = first; i < first + count; ++i)
            if (rows_[i] >= 0) function(static_cast<std::size_t>(rows_[i]) * width_, i * width_, width_);
    }

  private:
    std::size_t size_;
    const ElementRange* part_;
    std::span<const std::int64_t> rows_;
    std::size_t width_ = 0;  // of a row; 0: the gradient is for all rows
};

}  // namespace dtrain::kernels
