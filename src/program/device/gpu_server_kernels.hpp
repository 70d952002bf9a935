// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/host_copy.hpp"
#include "program/device/compute_device.hpp"
#include "program/device/gpu_batches.hpp"

namespace dtrain::program {

/// The operators of a trainer that computes on a GPU and communicates with servers. Data to send are
/// downloaded as part of the GPU's work, and sent at the end of the step: if an error in the data is found,
/// nothing of the step has been sent. Received data are uploaded before the operators that read them.
class GpuServerKernels {
  public:
    GpuServerKernels(std::shared_ptr<kernels::Gpu> gpu, State state);

    /// See ComputeDevice::make_server_kernels().
    ServerKernels make(const Operator& op, kernels::KernelArguments arguments, const GpuBatches& batches,
                       ServerLink& link);

    /// Call it when the GPU has completed all enqueued work.
    void note_finished() { ++clock_->finished; }

  private:
    /// Counts how often the GPU was known to be idle.
    struct Clock {
        std::int64_t finished = 0;
    };

    /// Host copy of a device tensor.
    class Copy {
      public:
        Copy(std::shared_ptr<kernels::Gpu> gpu, std::shared_ptr<Clock> clock, const TensorView& device);

        TensorView on_host() const { return host_.on_host(device_); }
        void bring() const { host_.download(device_); }
        /// Call it before writing to the host copy again.
        void wait_until_read() const;
        /// Uploads some of its elements.
        void give(std::span<const float> written);
        void give_all();

      private:
        std::shared_ptr<Clock> clock_;
        TensorView device_;
        kernels::HostCopy host_;
        std::int64_t given_ = -1;  // time of the last upload on the clock
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
    std::vector<std::shared_ptr<kernels::Kernel>> unsent_;  // sent by the operator that ends the step
};

}  // namespace dtrain::program
