// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/gpu.hpp"
#include "program/device/compute_device.hpp"
#include "program/device/gpu_batches.hpp"
#include "program/device/gpu_mirrors.hpp"
#include "program/device/gpu_runs.hpp"
#include "program/device/gpu_server_kernels.hpp"
#include "program/state/state_on_gpu.hpp"

namespace dtrain::program {

/// A GPU. It computes asynchronously; errors in its data are thrown when the caller next waits for it.
class GpuDevice final : public ComputeDevice {
  public:
    /// @param communicator over NCCL and with Gpu::stream(), or over MPI: gradients then go through host
    /// memory
    /// @param reaches_gpu whether it is over NCCL
    GpuDevice(StateOnGpu& on_gpu, State state, Communicator communicator, bool reaches_gpu);

    std::string description() const override;
    Memory allocate(std::size_t bytes) override { return gpu_->allocate(bytes); }
    Memory allocate_exchanged(std::size_t bytes) override;
    std::vector<StateTensor> state_tensors() override;
    void set_data(std::vector<StateTensor> data) override;

    std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                 const kernels::KernelArguments& arguments) override;
    std::unique_ptr<kernels::Kernel> make_chain_kernel(const std::vector<kernels::ChainLink>& links,
                                                       const std::set<const void*>& inner) override {
        return gpu_->make_chain_kernel(links, inner);
    }
    ServerKernels make_server_kernels(const Operator& op, const kernels::KernelArguments& arguments,
                                      ServerLink& link) override {
        return server_kernels_.make(op, arguments, *batches_, link);
    }
    bool joins() const override { return true; }
    SetNumber make_set_number(const TensorView& device, const VirtualRanks& batches) override;
    std::unique_ptr<GradientSums> make_gradient_sums(std::span<float> gradients, std::size_t slots) override;
    BucketSums make_bucket_sums(std::vector<std::span<float>> buckets) override;
    RowExchange make_row_exchange(Communicator communicator, TreeNode batches, int all,
                                  std::vector<ExchangedRows> gradients) override;

    std::function<void()> make_average(const VariableNames& variables) override;

    std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give) override {
        return gpu_->captured(give);
    }
    bool captures() const override { return true; }
    std::unique_ptr<kernels::Kernel> captured_with_sums(const std::function<void()>& give) override {
        return runs_->captured(give);
    }
    bool captures_sums() const override { return runs_.has_value(); }

    void begin_step(const StepUses& uses) override;
    void end_step() override;
    void before_exchange() override {
        if (!reaches_gpu_) gpu_->finish();
    }
    void finish() override {
        gpu_->finish();
        server_kernels_.note_finished();
    }
    void leave() noexcept override { on_gpu_.finish_later_reported(); }

    TensorView fed(const Variable& variable, const TensorView& device) override;
    TensorView fetched(const Variable& variable, const TensorView& device) override;

  private:
    std::function<void()> make_average_by_nccl(const Segments& segments);

    std::shared_ptr<kernels::Gpu> gpu_;
    State state_;
    StateOnGpu& on_gpu_;
    Communicator communicator_;
    bool reaches_gpu_;
    std::optional<GpuRuns> runs_;  // none: reductions are not part of graphs
    std::string why_no_runs_;
    std::optional<GpuBatches> batches_;
    GpuMirrors mirrors_;
    GpuServerKernels server_kernels_;
};

}  // namespace dtrain::program
