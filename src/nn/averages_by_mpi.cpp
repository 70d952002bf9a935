// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <dtrain/data_parallel.hpp>

#include "nn/eager_device.hpp"
#include "nn/parameter_averages.hpp"

namespace dtrain::eager {
namespace {

/// Parameter 0 of its GradientAveraging is the list of the leaves that this rank has used: after the average
/// it is above zero on all ranks for those that any rank has used. Gradients on a GPU are downloaded while
/// the backward pass continues; at its end they are waited for and averaged.
class AveragesByMpi final : public ParameterAverages {
  public:
    AveragesByMpi(const Leaves& leaves, const Communicator& communicator, std::int64_t bucket_bytes)
        : leaves_(leaves),
          used_(leaves.size(), 0),
          unused_values_(leaves.size(), 0),
          averaging_(communicator, buffers(), GradientAveragingOptions{.bucket_bytes = bucket_bytes}) {}

    void ready(std::size_t number) override {
        if (!own_device().is_apart()) {
            averaging_.ready(number + 1);
            return;
        }
        leaves_[number]->gradient.start_reading_to_host();
        coming_.push_back(number);
    }

    void finish(std::span<float> used) override {
        wait_for_gradients();
        for (const auto number : coming_) averaging_.ready(number + 1);
        coming_.clear();
        for (const auto& leaf : leaves_) leaf->gradient.host_to_fill();
        std::ranges::copy(used, used_.begin());
        averaging_.ready(0);
        averaging_.finish();
        std::ranges::copy(used_, used.begin());
    }

    void average_values() override {
        for (const auto& leaf : leaves_) leaf->value.host_to_write();
        averaging_.average_values();
    }

    bool values_are_identical() const override {
        for (const auto& leaf : leaves_) leaf->value.on_host();
        return averaging_.values_are_identical();
    }

  private:
    std::vector<ParameterBuffers> buffers() {
        std::vector<ParameterBuffers> all{{"parameters in use", unused_values_, used_}};
        for (const auto& leaf : leaves_)
            all.push_back({leaf->name, leaf->value.host_to_write().as<float>(),
                           leaf->gradient.host_to_write().as<float>()});
        return all;
    }

    // If waiting fails because of errors in the data, the gradients are discarded.
    void wait_for_gradients() {
        try {
            own_device().finish();
        } catch (...) {
            coming_.clear();
            throw;
        }
    }

    Leaves leaves_;
    std::vector<float> used_;
    std::vector<float> unused_values_;
    std::vector<std::size_t> coming_;  // in the order in which they became ready
    GradientAveraging averaging_;
};

}  // namespace

std::unique_ptr<ParameterAverages> averages_by_mpi(const Leaves& leaves, const Communicator& communicator,
                                                   std::int64_t bucket_bytes) {
    return std::make_unique<AveragesByMpi>(leaves, communicator, bucket_bytes);
}

}  // namespace dtrain::eager
