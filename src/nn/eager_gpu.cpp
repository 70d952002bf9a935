// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/eager_gpu.hpp"

#include <cstring>
#include <numeric>
#include <utility>

#include "program/device/gpu_kernel.hpp"
#include "program/state/state_access.hpp"

namespace dtrain::eager {
namespace {

// A kernel that the GPU may still run after its owner has released it.
class LastingKernel final : public kernels::Kernel {
  public:
    LastingKernel(std::unique_ptr<kernels::Kernel> kernel, Transfers& transfers)
        : kernel_(std::move(kernel)), transfers_(transfers) {}
    LastingKernel(const LastingKernel&) = delete;
    LastingKernel& operator=(const LastingKernel&) = delete;
    ~LastingKernel() override { transfers_.keep(std::move(kernel_)); }

    void run() override { kernel_->run(); }

  private:
    std::shared_ptr<kernels::Kernel> kernel_;
    Transfers& transfers_;
};

}  // namespace

EagerGpu::EagerGpu(const program::OpenGpu& opened)
    : gpu_(opened.gpu),
      number_(opened.number),
      transfers_(gpu_),
      pool_(std::make_shared<BlockPool>([gpu = gpu_](std::size_t bytes) { return gpu->allocate(bytes); })) {}

Value EagerGpu::make_value(const Shape& shape, DataType type) {
    const auto bytes = TensorView{nullptr, shape, type}.bytes();
    auto memory = pool_->take(bytes);
    auto mirror = std::make_shared<Mirror>(transfers_, memory.get(), bytes);
    return {std::move(memory), shape, type, std::move(mirror)};
}

Value EagerGpu::value_of(const State& state) {
    const auto& from = state.tensors().front().view;
    auto value = make_value(from.shape, from.type);
    std::memcpy(value.host_to_fill().data, from.data, from.bytes());
    return value;
}

// Copied from a list of numbers in device memory, so that counting needs no uploads.
Value EagerGpu::make_number(std::int64_t number) {
    constexpr std::int64_t together = 1024;
    const auto first = number - (number % together + together) % together;
    const auto& list = numbers_.get(first, [&] {
        auto made = make_value({together}, DataType::int64);
        const auto all = made.host_to_fill().as<std::int64_t>();
        std::iota(all.begin(), all.end(), first);
        return made;
    });
    auto value = make_value({1}, DataType::int64);
    gpu_->copy(value.on_device().data, list.on_device().as<std::int64_t>().data() + (number - first),
               sizeof number);
    return value;
}

void EagerGpu::copy(const Value& from, const Value& to) {
    const auto read = from.on_device();
    gpu_->copy(to.memory.get(), read.data, read.bytes());
    to.note_written_on_device();
}

std::unique_ptr<kernels::Kernel> EagerGpu::make_kernel(const std::string& operator_type,
                                                       const kernels::KernelArguments& arguments) {
    transfers_.keep_few();
    return lasting(program::make_gpu_kernel(*gpu_, operator_type, arguments));
}

std::unique_ptr<kernels::Kernel> EagerGpu::lasting(std::unique_ptr<kernels::Kernel> kernel) {
    return std::make_unique<LastingKernel>(std::move(kernel), transfers_);
}

std::vector<StateTensor> EagerGpu::device_state(const State& state) {
    program::StateAccess::put_on(state, gpu_, number_);
    return program::StateAccess::on_device(state);
}

void EagerGpu::write_state_to_device(const State& state) {
    program::StateAccess::on_gpu(state)->write_on_device();
}

}  // namespace dtrain::eager
