// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/block_pool.hpp"
#include "nn/eager_device.hpp"

namespace dtrain::eager {

/// This process' CPU. It computes synchronously.
class EagerCpu final : public EagerDevice {
  public:
    Device device() const override { return Device::cpu(); }

    Value make_value(const Shape& shape, DataType type) override;
    Value value_of(const State& state) override;
    Value make_number(std::int64_t number) override;
    void copy(const Value& from, const Value& to) override;

    std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                 const kernels::KernelArguments& arguments) override {
        return kernels::make_cpu_kernel(operator_type, arguments);
    }

    std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& /*give*/) override {
        return nullptr;
    }

    std::vector<StateTensor> device_state(const State& state) override { return state.tensors(); }
    void write_state_to_device(const State& /*state*/) override {}
    void forget_later(const State& /*state*/) override {}

    bool is_apart() const override { return false; }
    kernels::Gpu* gpu() override { return nullptr; }
    void finish() override {}
    void finish_later_reported() noexcept override {}

    std::size_t bytes() const override { return pool_->bytes(); }

  private:
    std::shared_ptr<BlockPool> pool_ = std::make_shared<BlockPool>();
};

}  // namespace dtrain::eager
