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

#include "kernels/gpu.hpp"
#include "kernels/kernel.hpp"
#include "nn/value.hpp"

namespace dtrain::eager {

/// Where tensors are stored and operators are computed: the CPU or a GPU. One thread at a time.
class EagerDevice {
  public:
    virtual ~EagerDevice() = default;

    /// A GPU has its number.
    virtual Device device() const = 0;

    /// Uninitialised, to be written by kernels or this process.
    virtual Value make_value(const Shape& shape, DataType type) = 0;
    /// The first tensor of a State that is not used by anything else.
    virtual Value value_of(const State& state) = 0;
    /// A tensor with one integer, for counters.
    virtual Value make_number(std::int64_t number) = 0;
    virtual void copy(const Value& from, const Value& to) = 0;

    /// For tensors of this device. @throws Error if there is no kernel for this operator
    virtual std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                         const kernels::KernelArguments& arguments) = 0;

    /// A kernel that runs everything that `give` enqueues, which is captured and not run now; null if that
    /// brings no gain.
    virtual std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give) = 0;

    /// The tensors of a State in device memory.
    virtual std::vector<StateTensor> device_state(const State& state) = 0;
    /// Call it before kernels write the State.
    virtual void write_state_to_device(const State& state) = 0;
    /// Releases the State once all enqueued kernels have finished.
    virtual void forget_later(const State& state) = 0;

    /// Whether device memory is separate from host memory.
    virtual bool is_apart() const = 0;
    /// The GPU; null on a CPU.
    virtual kernels::Gpu* gpu() = 0;
    /// Waits until everything has been computed. @throws Error of earlier work, as Gpu::finish()
    virtual void finish() = 0;
    /// finish(), whose error is thrown by the next one.
    virtual void finish_later_reported() noexcept = 0;

    /// Total memory for tensors, used or free.
    virtual std::size_t bytes() const = 0;
};

/// The device of this process, which does not change after the first call. @throws UsageError as
/// nn::get_device()
EagerDevice& own_device();

}  // namespace dtrain::eager
