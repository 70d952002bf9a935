// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gpu/memory.hpp"
#include "gpu/stream.hpp"

namespace dtrain::gpu {

/// Constant values of a kernel, in device memory.
template <class Value>
class Table {
  public:
    Table(const Stream& stream, const std::vector<Value>& values)
        : count_(values.size()), memory_(allocate(std::max<std::size_t>(count_, 1) * sizeof(Value))) {
        if (values.empty()) return;
        to_gpu(stream, memory_.get(), values.data(), count_ * sizeof(Value));
        stream.finish();  // `values` may be freed afterwards
    }

    const Value* data() const { return reinterpret_cast<const Value*>(memory_.get()); }
    std::size_t size() const { return count_; }

  private:
    std::size_t count_;
    DeviceMemory memory_;
};

}  // namespace dtrain::gpu
