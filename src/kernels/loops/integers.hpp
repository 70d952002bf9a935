// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <dtrain/tensor.hpp>

namespace dtrain::kernels {

/// Labels or ids of any integer type.
class Integers {
  public:
    explicit Integers(const TensorView& tensor)
        : data_(tensor.data), size_(tensor.size()), is_wide_(tensor.type == DataType::int64) {
        if (!is_integer(tensor.type))
            throw Error("a tensor of " + to_string(tensor.type) + " was asked for integers");
    }

    std::size_t size() const { return size_; }

    std::int64_t operator[](std::size_t i) const {
        return is_wide_ ? static_cast<const std::int64_t*>(data_)[i]
                        : static_cast<const std::int32_t*>(data_)[i];
    }

  private:
    const void* data_;
    std::size_t size_;
    bool is_wide_;
};

}  // namespace dtrain::kernels
