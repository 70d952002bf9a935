// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/device.hpp>
#include <dtrain/error.hpp>

/// What networks that are computed line by line are computed on: docs/layers.md.
namespace dtrain::nn {

/// Tensors are on one device already, and another one was asked for.
class DeviceChosenError : public UsageError {
  public:
    DeviceChosenError(const std::string& message, Device chosen, Device asked)
        : UsageError(message), chosen_(chosen), asked_(asked) {}

    const Device& chosen() const { return chosen_; }
    const Device& asked() const { return asked_; }

  private:
    Device chosen_;
    Device asked_;
};

/// Chooses where the tensors and parameters of this process are and its operators compute, before the first
/// of them is made: paddle.set_device("gpu:0"). Without it DTRAIN_DEVICE says so, or it is what an Executor
/// has that was not told (ExecutorOptions::device). A GPU without a number is the rank's, as for an Executor;
/// a program with several ranks makes its ParallelEnv before.
/// @throws DeviceChosenError when there is a tensor already, on another device; UsageError when there is no
/// such GPU, dtrain was built without CUDA, or a launcher started several ranks and there is no ParallelEnv
/// that says which of its node's GPUs without a number is this one's
void set_device(const Device& device);

/// The one that was chosen, or would be; of a GPU with its number.
/// @throws UsageError as set_device(), and when DTRAIN_DEVICE names no device
Device get_device();

}  // namespace dtrain::nn
