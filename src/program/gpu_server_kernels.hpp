// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/gpu.hpp"
#include "program/compute_device.hpp"
#include "program/gpu_batches.hpp"

namespace dtrain::program {

/// The operators of a trainer that computes on a GPU and talks to servers. What it sends is brought here as
/// part of the GPU's work, and sent at the end of the step: when the data are found to be wrong, nothing of
/// the step has left. What it gets is brought to the GPU before the operators that read it.
class GpuServerKernels {
  public:
    GpuServerKernels(std::shared_ptr<kernels::Gpu> gpu, State state);

    /// As ComputeDevice::make_server_kernels().
    ServerKernels make(const Operator& op, kernels::KernelArguments arguments, const GpuBatches& batches,
                       ServerLink& link);

    /// The GPU has done all that it was given.
    void note_finished() { ++clock_->finished; }

  private:
    /// When the GPU was last known to be done.
    struct Clock {
        std::int64_t finished = 0;
    };

    /// Memory here for a tensor there.
    class Copy {
      public:
        Copy(std::shared_ptr<kernels::Gpu> gpu, std::shared_ptr<Clock> clock, const TensorView& device);

        TensorView on_host() const { return {host_.get(), device_.shape, device_.type}; }
        void bring() const { gpu_->to_host(host_.get(), device_.data, device_.bytes()); }
        /// Before it is written again here.
        void wait_until_read() const;
        /// Elements of it.
        void give(std::span<const float> written);
        void give_all();

      private:
        void give(const std::byte* from, std::size_t bytes);

        std::shared_ptr<kernels::Gpu> gpu_;
        std::shared_ptr<Clock> clock_;
        TensorView device_;
        kernels::Gpu::Memory host_;
        std::int64_t given_ = -1;  // on the clock
    };
    using Copies = std::vector<std::shared_ptr<Copy>>;

    std::shared_ptr<Copy> copy_of(const TensorView& device) const;
    Copies replace_inputs(const Operator& op, const GpuBatches& batches,
                          kernels::KernelArguments& arguments) const;
    ServerKernels make_exchange(const Operator& op, kernels::KernelArguments arguments, ServerLink& link);
    ServerKernels make_receiving(const Operator& op, kernels::KernelArguments arguments, ServerLink& link,
                                 Copies inputs);

    std::shared_ptr<kernels::Gpu> gpu_;
    State state_;
    std::shared_ptr<Clock> clock_ = std::make_shared<Clock>();
    std::vector<std::shared_ptr<kernels::Kernel>> unsent_;  // for the operator that ends the step
};

}  // namespace dtrain::program
