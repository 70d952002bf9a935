// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/gpu_server_kernels.hpp"

#include <algorithm>
#include <utility>

#include "program/state/state_access.hpp"

namespace dtrain::program {
namespace {

using kernels::kernel_of;

TensorView tensor_in_state(const State& state, const std::string& variable) {
    return std::ranges::find(StateAccess::on_host(state), variable, &StateTensor::name)->view;
}

}  // namespace

GpuServerKernels::Copy::Copy(std::shared_ptr<kernels::Gpu> gpu, std::shared_ptr<Clock> clock,
                             const TensorView& device)
    : clock_(std::move(clock)), device_(device), host_(std::move(gpu), device) {}

void GpuServerKernels::Copy::wait_until_read() const {
    if (given_ < clock_->finished) return;
    host_.finish();
    ++clock_->finished;
}

void GpuServerKernels::Copy::give(std::span<const float> written) {
    const auto first = written.data() - on_host().as<float>().data();
    host_.upload(device_.as<float>().subspan(static_cast<std::size_t>(first), written.size()));
    given_ = clock_->finished;
}

void GpuServerKernels::Copy::give_all() {
    host_.upload(device_);
    given_ = clock_->finished;
}

GpuServerKernels::GpuServerKernels(std::shared_ptr<kernels::Gpu> gpu, State state)
    : gpu_(std::move(gpu)), state_(std::move(state)) {}

std::shared_ptr<GpuServerKernels::Copy> GpuServerKernels::copy_of(const TensorView& device) const {
    return std::make_shared<Copy>(gpu_, clock_, device);
}

// The caller's data are in host memory already.
GpuServerKernels::Copies GpuServerKernels::replace_inputs(const Operator& op, const GpuBatches& batches,
                                                          kernels::KernelArguments& arguments) const {
    Copies copies;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        auto& tensor = arguments.inputs[i].tensor;
        if (batches.has(op.inputs[i].variable)) {
            tensor = batches.on_host(op.inputs[i].variable);
        } else {
            copies.push_back(copy_of(tensor));
            tensor = copies.back()->on_host();
        }
    }
    return copies;
}

ServerKernels GpuServerKernels::make(const Operator& op, kernels::KernelArguments arguments,
                                     const GpuBatches& batches, ServerLink& link) {
    if (op.type == "exchange_changes") return make_exchange(op, std::move(arguments), link);
    if (op.type == "recv") return make_receiving(op, std::move(arguments), link, {});
    auto copies = replace_inputs(op, batches, arguments);
    if (op.type == "pull_rows") return make_receiving(op, std::move(arguments), link, std::move(copies));
    auto talk = link.make_kernel(op, arguments, {});
    ServerKernels made;
    if (op.type == "fetch_barrier") return {nullptr, std::move(talk)};
    if (!copies.empty())
        made.copy = kernel_of([copies] {
            for (const auto& copy : copies) copy->bring();
        });
    if (op.type == "send" || op.type == "push_rows") {
        unsent_.push_back(std::move(talk));
        return made;
    }
    made.talk = kernel_of([unsent = std::exchange(unsent_, {}), own = std::move(talk)] {
        for (const auto& kernel : unsent) kernel->run();
        own->run();
    });
    made.waits = true;
    return made;
}

// Receives into host memory, and uploads what was written there.
ServerKernels GpuServerKernels::make_receiving(const Operator& op, kernels::KernelArguments arguments,
                                               ServerLink& link, Copies inputs) {
    const bool is_whole = op.type == "pull_rows";
    auto& output = arguments.outputs.front().tensor;
    auto copy = copy_of(output);
    output = copy->on_host();
    CopiedTensors copied;
    if (!is_whole) copied.written = [copy](std::span<const float> written) { copy->give(written); };
    ServerKernels made;
    made.waits = !inputs.empty();
    if (made.waits)
        made.copy = kernel_of([inputs = std::move(inputs)] {
            for (const auto& input : inputs) input->bring();
        });
    made.talk = kernel_of([copy, is_whole, own = link.make_kernel(op, arguments, copied)] {
        copy->wait_until_read();
        own->run();
        if (is_whole) copy->give_all();
    });
    return made;
}

// Exchanges all parameters periodically, also between two steps: in the State.
ServerKernels GpuServerKernels::make_exchange(const Operator& op, kernels::KernelArguments arguments,
                                              ServerLink& link) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
        arguments.inputs[i].tensor = arguments.outputs[i].tensor =
            tensor_in_state(state_, op.inputs[i].variable);
    CopiedTensors copied;
    copied.bring = [state = state_] { StateAccess::on_gpu(state)->write_on_host(); };
    return {nullptr, kernel_of([state = state_, own = link.make_kernel(op, arguments, copied)] {
                own->run();
                StateAccess::on_gpu(state)->write_on_device();
            })};
}

}  // namespace dtrain::program
