// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/eager_device.hpp"
#include "nn/lru_cache.hpp"
#include "nn/transfers.hpp"
#include "program/device/gpu_choice.hpp"

namespace dtrain::eager {

/// A GPU. It computes asynchronously; errors in its data are thrown at the next wait for it.
class EagerGpu final : public EagerDevice {
  public:
    explicit EagerGpu(const program::OpenGpu& opened);

    Device device() const override { return Device::gpu(number_); }

    Value make_value(const Shape& shape, DataType type) override;
    Value value_of(const State& state) override;
    Value make_number(std::int64_t number) override;
    void copy(const Value& from, const Value& to) override;

    /// @throws ProgramError as program::make_gpu_kernel()
    std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                 const kernels::KernelArguments& arguments) override;

    std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give) override {
        return lasting(gpu_->captured(give));
    }

    std::vector<StateTensor> device_state(const State& state) override;
    void write_state_to_device(const State& state) override;
    void forget_later(const State& state) override { transfers_.keep(std::make_shared<State>(state)); }

    bool is_apart() const override { return true; }
    kernels::Gpu* gpu() override { return gpu_.get(); }
    void finish() override { transfers_.finish(); }
    void finish_later_reported() noexcept override { transfers_.finish_later_reported(); }

    std::size_t bytes() const override { return pool_->bytes(); }

  private:
    std::unique_ptr<kernels::Kernel> lasting(std::unique_ptr<kernels::Kernel> kernel);

    std::shared_ptr<kernels::Gpu> gpu_;
    int number_;
    Transfers transfers_;
    std::shared_ptr<BlockPool> pool_;
    LruCache<std::int64_t, Value> numbers_{8};  // lists of consecutive numbers, by the first one
};

}  // namespace dtrain::eager
