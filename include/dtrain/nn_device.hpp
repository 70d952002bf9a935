// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/device.hpp>
#include <dtrain/error.hpp>

/// The device of the eager API (networks computed line by line): docs/layers.md.
namespace dtrain::nn {

/// Another device was requested although tensors already exist on one.
class DeviceChosenError : public UsageError {
  public:
    /// @param chosen the device that tensors are on @param asked the other one
    DeviceChosenError(const std::string& message, Device chosen, Device asked)
        : UsageError(message), chosen_(chosen), asked_(asked) {}

    /// The device that tensors are on.
    const Device& chosen() const { return chosen_; }
    /// The device that was asked for.
    const Device& asked() const { return asked_; }

  private:
    Device chosen_;
    Device asked_;
};

/// Chooses the device of this process' tensors, parameters and operators, before the first of them is
/// created: paddle.set_device("gpu:0"). Without it the device is that of DTRAIN_DEVICE, or else the default
/// of an Executor (ExecutorOptions::device). A GPU without a number is the rank's, as for an Executor; a
/// program with several ranks creates its ParallelEnv first.
/// @throws DeviceChosenError if there already is a tensor on another device; UsageError if there is no such
/// GPU, dtrain was built without CUDA, or a GPU without a number is requested in a job of several ranks
/// without a ParallelEnv that determines which GPU of the node is this rank's
void set_device(const Device& device);

/// The chosen device, or the one that would be chosen; a GPU has its number.
/// @throws UsageError as set_device(), and if DTRAIN_DEVICE names no device
Device get_device();

}  // namespace dtrain::nn
