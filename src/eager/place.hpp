// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dtrain/device.hpp>
#include <dtrain/executor.hpp>

#include "eager/value.hpp"
#include "kernels/kernel.hpp"

namespace dtrain::eager {

/// Where tensors are and who computes with them. One thread at a time.
class Place {
  public:
    virtual ~Place() = default;

    /// Of a GPU, with its number.
    virtual Device device() const = 0;

    /// Of any content, for kernels or this process to write.
    virtual Value make_value(const Shape& shape, DataType type) = 0;
    /// The first tensor of a State that nobody else uses.
    virtual Value value_of(const State& state) = 0;
    /// One number: a counter.
    virtual Value make_number(std::int64_t number) = 0;
    virtual void copy(const Value& from, const Value& to) = 0;

    /// For tensors there.
    /// @throws Error when there is none for this operator
    virtual std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                         const kernels::KernelArguments& arguments) = 0;

    /// All that `give` runs, which is not run now but at each run() of what is returned; null where that
    /// gains nothing.
    virtual std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give) = 0;

    /// What a State has, there.
    virtual std::vector<StateTensor> device_state(const State& state) = 0;
    /// Kernels write it from now on.
    virtual void write_state_to_device(const State& state) = 0;
    /// It is forgotten when kernels have done what they were given.
    virtual void forget_later(const State& state) = 0;

    /// Whether this process' memory is another one than that of kernels.
    virtual bool is_apart() const = 0;
    /// Waits until all has been computed. @throws Error of what was given before, as Gpu::finish()
    virtual void finish() = 0;

    /// Of all memory for tensors, used or not.
    virtual std::size_t bytes() const = 0;
};

/// That of this process, which stays the same from the first call on.
/// @throws UsageError as nn::get_device()
Place& place();

}  // namespace dtrain::eager
