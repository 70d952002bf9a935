// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/device/compute_device.hpp"
#include "program/passes/element_chains.hpp"

namespace dtrain::program {

/// This process' CPU: device memory is host memory.
class CpuDevice final : public ComputeDevice {
  public:
    CpuDevice(State state, Communicator communicator)
        : state_(std::move(state)), communicator_(std::move(communicator)) {}

    std::string description() const override { return "CPU"; }
    Memory allocate(std::size_t bytes) override;
    Memory allocate_exchanged(std::size_t bytes) override;
    std::vector<StateTensor> state_tensors() override { return state_.tensors(); }
    void set_data(std::vector<StateTensor>) override {}

    std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                 const kernels::KernelArguments& arguments) override {
        return kernels::make_cpu_kernel(operator_type, arguments);
    }
    std::unique_ptr<kernels::Kernel> make_chain_kernel(const std::vector<kernels::ChainLink>& links,
                                                       const std::set<const void*>& inner) override {
        return program::make_chain_kernel(links, inner);
    }
    ServerKernels make_server_kernels(const Operator& op, const kernels::KernelArguments& arguments,
                                      ServerLink& link) override {
        return {nullptr, link.make_kernel(op, arguments, {})};
    }
    bool joins() const override { return false; }
    SetNumber make_set_number(const TensorView& device, const VirtualRanks&) override {
        return [number = device.as<std::int64_t>().data()](std::int64_t value) { *number = value; };
    }
    std::unique_ptr<GradientSums> make_gradient_sums(std::span<float> gradients, std::size_t slots) override;
    BucketSums make_bucket_sums(std::vector<std::span<float>> buckets) override {
        return {communicator_, std::move(buckets)};
    }
    RowExchange make_row_exchange(Communicator communicator, TreeNode batches, int all,
                                  std::vector<ExchangedRows> gradients) override {
        return {std::move(communicator), batches, all, std::move(gradients)};
    }

    std::function<void()> make_average(const VariableNames& variables) override;

    std::unique_ptr<kernels::Kernel> captured(const std::function<void()>&) override { return nullptr; }
    bool captures() const override { return false; }
    std::unique_ptr<kernels::Kernel> captured_with_sums(const std::function<void()>&) override {
        return nullptr;
    }
    bool captures_sums() const override { return false; }

    void begin_step(const StepUses& uses) override;
    void end_step() override {}
    void before_exchange() override {}
    void finish() override {}
    void leave() noexcept override {}

    TensorView fed(const Variable&, const TensorView& device) override { return device; }
    TensorView fetched(const Variable&, const TensorView& device) override;

  private:
    State state_;
    Communicator communicator_;
};

}  // namespace dtrain::program
