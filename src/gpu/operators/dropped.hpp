// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/on_device.hpp"
#include "kernels/functors/philox_block.hpp"
#include "kernels/kernel.hpp"

namespace dtrain::gpu {

/// Decides which elements of a batch are dropped, as kernels/cpu/dropout.cpp.
class Dropped {
  public:
    explicit Dropped(const kernels::KernelArguments& arguments)
        : step_(counter_of(arguments, "step")),
          first_row_(counter_of(arguments, "first_row")),
          batch_(counter_of(arguments, "batch")) {
        const auto slice = arguments.slice.value_or(kernels::Slice{arguments.input("x").shape, 0});
        size_ = static_cast<std::uint64_t>(element_count(slice.whole));
        row_size_ = size_ / static_cast<std::uint64_t>(slice.whole.front());
        first_ = slice.first;
        // Operators of one program have different streams; the product keeps them apart from programs with
        // adjacent seeds.
        key_ = static_cast<std::uint64_t>(arguments.whole("seed")) ^
               (static_cast<std::uint64_t>(arguments.whole("stream")) * 0x9E3779B97F4A7C15U);
        dropped_below_ = static_cast<std::uint64_t>(std::ldexp(arguments.number("probability"), 32));
    }

    /// Index of the first element in the global batch.
    ON_DEVICE std::uint64_t begin() const {
        return value(first_row_) * row_size_ + value(batch_) * size_ + first_;
    }
    /// Random numbers for four consecutive elements of the global batch.
    ON_DEVICE kernels::RandomBlock random(std::uint64_t block) const {
        return kernels::philox_block(key_, value(step_), block);
    }
    ON_DEVICE bool has(std::uint32_t random) const { return random < dropped_below_; }
    /// For a single element.
    ON_DEVICE bool has_element(std::uint64_t i) const {
        const std::uint64_t at = begin() + i;
        return has(random(at / 4).at(at % 4));
    }

  private:
    static const std::int64_t* counter_of(const kernels::KernelArguments& arguments, std::string_view slot) {
        return arguments.has_input(slot) ? arguments.in<std::int64_t>(slot).data() : nullptr;
    }
    ON_DEVICE static std::uint64_t value(const std::int64_t* counter) {
        return counter != nullptr ? static_cast<std::uint64_t>(*counter) : 0;
    }

    const std::int64_t* step_;
    const std::int64_t* first_row_;
    const std::int64_t* batch_;
    std::uint64_t size_ = 0;      ///< size of the batch that x is, or is a slice of
    std::uint64_t row_size_ = 0;  ///< elements of one of its rows
    std::uint64_t first_ = 0;     ///< index of x's first element in it
    std::uint64_t key_ = 0;
    std::uint64_t dropped_below_ = 0;
};

/// The factor of elements that are not dropped.
inline double kept_factor(const kernels::KernelArguments& arguments) {
    return 1.0 / (1.0 - arguments.number("probability"));
}

}  // namespace dtrain::gpu
