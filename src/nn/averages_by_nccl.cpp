// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.hpp"
#include "comm/nccl/sums_by_nccl.hpp"
#include "nn/eager_device.hpp"
#include "nn/gpu_buckets.hpp"
#include "nn/parameter_averages.hpp"
#include "parallel/bucketed_averaging.hpp"

namespace dtrain::eager {
namespace {

ElementSpan device_memory(const Value& value) {
    return {value.type, value.memory.get(), static_cast<std::size_t>(element_count(value.shape))};
}

std::vector<ParameterBuffers> device_buffers(const Leaves& leaves) {
    std::vector<ParameterBuffers> all;
    for (const auto& leaf : leaves)
        all.push_back({leaf->name, device_memory(leaf->value), device_memory(leaf->gradient)});
    return all;
}

/// A bucket's sum starts once the GPU has computed its gradients, beside the backward pass that goes on. What
/// ranks have used is so little that MPI exchanges it.
class AveragesByNccl final : public ParameterAverages {
  public:
    AveragesByNccl(const Leaves& leaves, const Communicator& communicator, std::int64_t bucket_bytes,
                   const GpuOfTensors& on)
        : leaves_(leaves),
          averaging_(comm::over_nccl(communicator, on.number, on.gpu.stream()), device_buffers(leaves),
                     bucket_bytes, std::make_unique<GpuBuckets>(on.gpu)) {
        for (const auto& leaf : leaves_) communicator.broadcast(leaf->value.host_to_write().as<float>());
    }
    AveragesByNccl(const AveragesByNccl&) = delete;
    AveragesByNccl& operator=(const AveragesByNccl&) = delete;
    /// The GPU may still read the buckets, which go with the communicator.
    ~AveragesByNccl() override { own_device().finish_later_reported(); }

    void ready(std::size_t number) override {
        leaves_[number]->gradient.on_device();
        averaging_.ready(number);
    }

    void finish(std::span<float> used) override {
        auto exchange_of_used = averaging_.communicator().start_allreduce_sum(used);
        averaging_.finish();
        exchange_of_used.wait();
        for (const auto& leaf : leaves_) leaf->gradient.note_written_on_device();
    }

    void average_values() override {
        for (const auto& leaf : leaves_) leaf->value.on_device();
        averaging_.average_values();
        for (const auto& leaf : leaves_) leaf->value.note_written_on_device();
    }

    bool values_are_identical() const override {
        std::uint64_t sum = 0;
        for (const auto& leaf : leaves_)
            sum = checksum(sum, std::as_bytes(leaf->value.on_host().as<float>()));
        return averaging_.communicator().all_have(static_cast<std::int64_t>(sum));
    }

  private:
    Leaves leaves_;
    parallel::BucketedAveraging averaging_;
};

}  // namespace

std::unique_ptr<ParameterAverages> averages_by_nccl(const Leaves& leaves, const Communicator& communicator,
                                                    std::int64_t bucket_bytes, const GpuOfTensors& on) {
    return std::make_unique<AveragesByNccl>(leaves, communicator, bucket_bytes, on);
}

}  // namespace dtrain::eager
