// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

#include "kernels/gpu.hpp"
#include "nn/leaf.hpp"

namespace dtrain::eager {

using Leaves = std::vector<std::shared_ptr<Leaf>>;

/// Averages the gradients and the values of parameters over ranks.
class ParameterAverages {
  public:
    virtual ~ParameterAverages() = default;

    /// The gradient of the leaf with this number is complete; the backward pass continues.
    virtual void ready(std::size_t number) = 0;

    /// Sets all gradients to their averages, with zeros for those that are not ready here. Collective.
    /// @param used by leaf, 1 if its gradient is ready here; afterwards above 0 if it is on any rank
    /// @throws Error of earlier work of a GPU, before anything is exchanged
    virtual void finish(std::span<float> used) = 0;

    /// Sets all values to their averages. Collective.
    virtual void average_values() = 0;
    /// The same on all ranks. Collective.
    virtual bool values_are_identical() const = 0;
};

/// Through MPI in memory of the host: what is on a GPU is downloaded and uploaded again. All leaves get the
/// values of rank 0. Collective. @throws UsageError as GradientAveraging
std::unique_ptr<ParameterAverages> averages_by_mpi(const Leaves& leaves, const Communicator& communicator,
                                                   std::int64_t bucket_bytes);

/// The GPU of a rank's tensors.
struct GpuOfTensors {
    kernels::Gpu& gpu;
    int number = 0;
};

/// The same through NCCL in memory of the rank's GPU, on which the leaves are.
/// @param communicator over MPI
/// @throws UsageError also if NCCL is not available
std::unique_ptr<ParameterAverages> averages_by_nccl(const Leaves& leaves, const Communicator& communicator,
                                                    std::int64_t bucket_bytes, const GpuOfTensors& on);

}  // namespace dtrain::eager
