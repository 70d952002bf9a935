// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/nn_device.hpp>

#include "comm/api/own_node_rank.hpp"
#include "nn/eager_cpu.hpp"
#include "nn/eager_gpu.hpp"
#include "program/device/gpu_choice.hpp"

namespace dtrain {
namespace eager {
namespace {

struct Chosen {
    std::unique_ptr<EagerDevice> device;
    bool is_used = false;
};

// Never destroyed: tensors may live until the very end of the process.
Chosen& chosen() {
    static auto& of_process = *new Chosen;
    return of_process;
}

// If the GPU is not specified, it depends on the local rank.
int node_rank_for(const Device& device, const Environment& environment) {
    const bool is_said = device.number || !environment.get_or("FLAGS_selected_gpus", "").empty();
    const auto rank = comm::own_node_rank(environment);
    if (!rank && !is_said)
        throw UsageError(
            "which GPU is this rank's is not known before MPI is initialised: make the ParallelEnv before "
            "the first tensor or layer, or choose one by its number (gpu:0)");
    return rank.value_or(0);
}

std::unique_ptr<EagerDevice> make_device(const std::optional<Device>& asked) {
    const auto environment = Environment::of_this_process();
    const auto device = program::device_to_use(asked, environment);
    if (!device.is_gpu()) return std::make_unique<EagerCpu>();
    return std::make_unique<EagerGpu>(
        program::open_gpu_of_rank(device.number, environment, node_rank_for(device, environment)));
}

EagerDevice& made_device() {
    auto& device = chosen().device;
    if (!device) device = make_device({});
    return *device;
}

bool is_one_of(const Device& device, const Device& asked) {
    return device == asked || (device.is_gpu() && asked == Device::gpu());
}

}  // namespace

EagerDevice& own_device() {
    auto& of_process = made_device();
    chosen().is_used = true;
    return of_process;
}

}  // namespace eager

void nn::set_device(const Device& device) {
    auto& [own, is_used] = eager::chosen();
    if (own && eager::is_one_of(own->device(), device)) return;
    if (is_used)
        throw DeviceChosenError(
            fmt::format("set_device(): {} is asked for, and tensors are on {} already: choose the device "
                        "before the first tensor or layer is made",
                        to_string(device), to_string(own->device())),
            own->device(), device);
    own = eager::make_device(device);
}

Device nn::get_device() {
    return eager::made_device().device();
}

}  // namespace dtrain
