// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/gpu_device.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/shared_buffer.hpp>

#include "program/device/gpu_kernel.hpp"
#include "program/exchange/gpu_sums.hpp"
#include "program/state/state_access.hpp"

namespace dtrain::program {
namespace {

// The span from the beginning of the first bucket to the end of the last one.
std::span<float> all_of(const std::vector<std::span<float>>& buckets) {
    if (buckets.empty()) return {};
    const auto* end = buckets.back().data() + buckets.back().size();
    return {buckets.front().data(), static_cast<std::size_t>(end - buckets.front().data())};
}

}  // namespace

GpuDevice::GpuDevice(StateOnGpu& on_gpu, State state, Communicator communicator, bool reaches_gpu)
    : gpu_(on_gpu.gpu()),
      state_(std::move(state)),
      on_gpu_(on_gpu),
      communicator_(std::move(communicator)),
      reaches_gpu_(reaches_gpu),
      mirrors_(gpu_),
      server_kernels_(gpu_, state_) {
    if (!reaches_gpu_) return;
    why_no_runs_ = why_sums_are_not_captured(communicator_);
    if (why_no_runs_.empty()) runs_.emplace(gpu_, communicator_);
}

std::string GpuDevice::description() const {
    const auto gpu = gpu_->description();
    return why_no_runs_.empty()
               ? gpu
               : fmt::format("{} (sums by NCCL outside of the CUDA graph: {})", gpu, why_no_runs_);
}

ComputeDevice::Memory GpuDevice::allocate_exchanged(std::size_t bytes) {
    if (!reaches_gpu_) return allocate(bytes);
    const auto registered = std::make_shared<SharedBuffer>(communicator_.allocate(bytes));
    return {registered, registered->bytes().data()};
}

std::vector<StateTensor> GpuDevice::state_tensors() {
    return StateAccess::on_device(state_);
}

void GpuDevice::set_data(std::vector<StateTensor> data) {
    batches_.emplace(gpu_, std::move(data));
}

std::unique_ptr<kernels::Kernel> GpuDevice::make_kernel(const std::string& operator_type,
                                                        const kernels::KernelArguments& arguments) {
    return make_gpu_kernel(*gpu_, operator_type, arguments);
}

// The numbers of a step's batches are uploaded in advance, so that no step waits for one.
ComputeDevice::SetNumber GpuDevice::make_set_number(const TensorView& device, const VirtualRanks& batches) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(batches.count()));
    std::iota(numbers.begin(), numbers.end(), batches.begin);
    auto all = gpu_->allocate(numbers.size() * sizeof(std::int64_t));
    gpu_->to_gpu(all.get(), numbers.data(), numbers.size() * sizeof(std::int64_t));
    gpu_->finish();
    return [this, all = std::move(all), device, batches](std::int64_t value) {
        if (value < batches.end) {
            const auto offset = static_cast<std::size_t>(value - batches.begin) * sizeof value;
            gpu_->copy(device.data, all.get() + offset, sizeof value);
        } else {  // the caller accumulates more batches than the program was made for
            gpu_->to_gpu(device.data, &value, sizeof value);
            gpu_->finish();
        }
    };
}

std::unique_ptr<GradientSums> GpuDevice::make_gradient_sums(std::span<float> gradients, std::size_t slots) {
    return std::make_unique<GpuSums>(gpu_, gradients, slots);
}

BucketSums GpuDevice::make_bucket_sums(std::vector<std::span<float>> buckets) {
    std::optional<kernels::HostCopy> copies;
    if (communicator_.size() > 1 && !reaches_gpu_) copies.emplace(gpu_, std::as_bytes(all_of(buckets)));
    // Warm-up with zeros: NCCL then need not set up anything for this length during a capture.
    if (runs_)
        for (const auto& bucket : buckets) communicator_.allreduce_sum(bucket);
    return {communicator_, std::move(buckets), std::move(copies)};
}

RowExchange GpuDevice::make_row_exchange(Communicator communicator, TreeNode batches, int all,
                                         std::vector<ExchangedRows> gradients) {
    auto staged = std::make_unique<StagedRows>(gpu_, gradients);
    auto host = staged->on_host();
    return {std::move(communicator), batches, all, std::move(host), std::move(staged)};
}

// Through MPI in the State's host memory.
std::function<void()> GpuDevice::make_average(const VariableNames& variables) {
    if (reaches_gpu_) return make_average_by_nccl(segments_of(StateAccess::on_device(state_), variables));
    return [this, segments = segments_of(StateAccess::on_host(state_), variables)] {
        on_gpu_.write_on_host();
        average(segments, communicator_);
        on_gpu_.write_on_device();
    };
}

// In parts, through memory that is registered with NCCL.
std::function<void()> GpuDevice::make_average_by_nccl(const Segments& segments) {
    if (segments.empty()) return [] {};
    constexpr std::size_t max = std::size_t{4} << 20;
    std::size_t largest = 0;
    for (const auto& segment : segments) largest = std::max(largest, std::min(segment.size(), max));
    const auto exchanged = allocate_exchanged(largest * sizeof(float));
    auto* const sums = reinterpret_cast<float*>(exchanged.get());
    struct Part {
        std::span<float> numbers;
        std::shared_ptr<kernels::Kernel> divide;
    };
    std::vector<Part> parts;
    for (const auto& segment : segments)
        for (std::size_t first = 0; first < segment.size(); first += max) {
            const auto numbers = segment.subspan(first, std::min(max, segment.size() - first));
            const auto seen = [&](void* data) {
                return TensorView{data, {static_cast<std::int64_t>(numbers.size())}, DataType::float32};
            };
            parts.push_back({numbers, gpu_->make_kernel("scale", {{{"x", seen(sums)}},
                                                                  {{"out", seen(numbers.data())}},
                                                                  {{"scale", 1.0 / communicator_.size()},
                                                                   {"bias", 0.0}}})});
        }
    return [this, exchanged, sums, parts] {
        for (const auto& [numbers, divide] : parts) {
            gpu_->copy(sums, numbers.data(), numbers.size_bytes());
            communicator_.allreduce_sum(std::span(sums, numbers.size()));
            divide->run();
        }
    };
}

void GpuDevice::begin_step(const StepUses& uses) {
    if (uses.writes_state)
        on_gpu_.write_on_device();
    else
        on_gpu_.read_on_device();
    mirrors_.note_step();
    if (uses.data) batches_->bring();
}

void GpuDevice::end_step() {
    if (runs_) runs_->end_part();
    batches_->settle();
}

TensorView GpuDevice::fed(const Variable& variable, const TensorView& /*device*/) {
    return batches_->on_host(variable.name);
}

TensorView GpuDevice::fetched(const Variable& variable, const TensorView& device) {
    if (variable.role == Role::data) return batches_->on_host(variable.name);
    if (!is_persistable(variable.role)) return mirrors_.of(variable.name, device);
    for (const auto& tensor : StateAccess::to_read(state_))
        if (tensor.name == variable.name) return tensor.view;
    throw Error(fmt::format("the state has no '{}'", variable.name));
}

}  // namespace dtrain::program
