// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <dtrain/nn_training.hpp>

#include "comm/nccl/sums_by_nccl.hpp"
#include "nn/eager_device.hpp"
#include "nn/graph.hpp"
#include "nn/parameter_averages.hpp"
#include "parallel/host_communicator.hpp"

namespace dtrain::nn {

/// Notes which gradients a backward pass has completed, and has them averaged.
class DataParallel::Averaging final : public eager::GradientWatcher {
  public:
    Averaging(const Layer& layer, const Communicator& communicator, const DataParallelOptions& options) {
        parallel::check_is_for_host(communicator, "DataParallel",
                                    "give it the one over MPI that nccl_communicator() was made of, and "
                                    "DataParallelOptions::nccl if NCCL is to average gradients on GPUs");
        for (const auto& parameter : layer.parameters()) leaves_.push_back(parameter.leaf());
        throw_together(communicator, what_is_wrong());
        auto& of_every_pass = GradientWatcher::of_every_pass();
        if (communicator.size() == 1) {
            if (options.every_backward) of_every_pass.push_back(this);
            return;
        }
        used_.assign(leaves_.size(), 0);
        is_ready_.assign(leaves_.size(), false);
        averages_ = make_averages(communicator, options);
        for (std::size_t number = 0; number < leaves_.size(); ++number) {
            leaves_[number]->watcher = this;
            leaves_[number]->number = number;
            ++leaves_[number]->version;  // it now has rank 0's values
        }
        if (options.every_backward) of_every_pass.push_back(this);
    }

    ~Averaging() override {
        std::erase(of_every_pass(), this);
        for (const auto& leaf : leaves_)
            if (leaf->watcher == this) leaf->watcher = nullptr;
    }

    void ready(std::size_t number) override {
        if (pauses > 0) return;
        is_ready_[number] = true;
        used_[number] = 1;
        averages_->ready(number);
    }

    void finish() override {
        if (pauses > 0 || !averages_) return;
        // Those of backward passes within no_sync() that this pass has not reached.
        for (std::size_t number = 0; number < leaves_.size(); ++number)
            if (!is_ready_[number] && leaves_[number]->has_gradient) ready(number);
        try {
            averages_->finish(used_);
        } catch (...) {
            reset_state();
            throw;
        }
        for (std::size_t number = 0; number < leaves_.size(); ++number)
            leaves_[number]->has_gradient = used_[number] > 0;
        reset_state();
    }

    void average_values() {
        if (!averages_) return;
        averages_->average_values();
        for (const auto& leaf : leaves_) ++leaf->version;
    }

    bool values_are_identical() const { return !averages_ || averages_->values_are_identical(); }

    int pauses = 0;

  private:
    std::unique_ptr<eager::ParameterAverages> make_averages(const Communicator& communicator,
                                                            const DataParallelOptions& options) const {
        auto& own = eager::own_device();
        const auto device = own.device();
        if (options.nccl) comm::check_all_or_none_compute_on_gpus(device.is_gpu(), communicator);
        if (options.nccl && device.is_gpu())
            return eager::averages_by_nccl(leaves_, communicator, options.bucket_bytes,
                                           {.gpu = *own.gpu(), .number = device.number.value_or(0)});
        return eager::averages_by_mpi(leaves_, communicator, options.bucket_bytes);
    }

    void reset_state() {
        std::ranges::fill(used_, 0.0F);
        is_ready_.assign(leaves_.size(), false);
    }

    std::optional<std::string> what_is_wrong() const {
        if (leaves_.empty())
            return "DataParallel: the layer has no parameter whose gradient could be averaged";
        for (const auto& leaf : leaves_) {
            if (leaf->value.type != DataType::float32)
                return fmt::format("DataParallel: parameter '{}' is {}, expected float32", leaf->name,
                                   to_string(leaf->value.type));
            if (leaf->watcher != nullptr)
                return fmt::format(
                    "DataParallel: the gradient of parameter '{}' is averaged already; wrap a "
                    "layer once",
                    leaf->name);
        }
        return std::nullopt;
    }

    eager::Leaves leaves_;
    std::vector<float> used_;  // by leaf, 1 for those that this rank's pass has reached
    std::vector<bool> is_ready_;
    std::unique_ptr<eager::ParameterAverages> averages_;  // null: there is one rank
};

namespace {

void report_dropouts(Layer& layer, std::int64_t part) {
    if (auto* const dropout = dynamic_cast<Dropout*>(&layer)) dropout->set_part(part);
    for (const auto& each : layer.layers()) report_dropouts(*each, part);
}

}  // namespace

DataParallel::DataParallel(Layer& layer, const Communicator& communicator, const DataParallelOptions& options)
    : layer_(layer), averaging_(std::make_unique<Averaging>(layer, communicator, options)) {
    add_layer(std::shared_ptr<Layer>(std::shared_ptr<void>(), &layer));
    report_dropouts(layer, communicator.rank());
}

DataParallel::DataParallel(DataParallel&&) noexcept = default;

DataParallel::~DataParallel() {
    if (averaging_) report_dropouts(layer_, 0);
}

DataParallel::NoSync::NoSync(DataParallel& parallel) : pauses_(parallel.averaging_->pauses) {
    ++pauses_;
}

DataParallel::NoSync::~NoSync() {
    --pauses_;
}

void DataParallel::average_parameters() {
    averaging_->average_values();
}

bool DataParallel::parameters_are_identical() const {
    return averaging_->values_are_identical();
}

}  // namespace dtrain::nn
