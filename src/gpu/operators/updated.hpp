// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/on_device.hpp"
#include "gpu/operators/give.hpp"

namespace dtrain::gpu {

/// @throws Error if only a part of the parameter is to be updated, because the host would have to pass it to
/// the GPU in each run
inline void refuse_part(std::string_view type, const KernelArguments& arguments) {
    if (arguments.part != nullptr)
        throw Error("the operator '" + std::string(type) +
                    "' has no GPU kernel that updates a part of a parameter");
}

/// Maps elements of a gradient to elements of its parameter, as kernels/updated_rows.hpp.
class UpdatedElements {
  public:
    explicit UpdatedElements(const KernelArguments& arguments) : count_(arguments.input("gradient").size()) {
        if (!arguments.has_input("rows")) return;
        const auto rows = arguments.in<std::int64_t>("rows");
        rows_ = rows.data();
        width_ = count_ / rows.size();
    }

    std::size_t count() const { return count_; }

    /// False if it belongs to none.
    ON_DEVICE bool find(std::size_t i, std::size_t& at) const {
        at = i;
        if (rows_ == nullptr) return true;
        const auto [row, column] = position_of(i, width_);
        if (rows_[row] < 0) return false;
        at = static_cast<std::size_t>(rows_[row]) * width_ + column;
        return true;
    }

  private:
    std::size_t count_;
    const std::int64_t* rows_ = nullptr;
    std::size_t width_ = 0;
};

}  // namespace dtrain::gpu
