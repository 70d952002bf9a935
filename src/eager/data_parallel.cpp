// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <dtrain/data_parallel.hpp>
#include <dtrain/nn_training.hpp>

#include "eager/graph.hpp"
#include "eager/place.hpp"

namespace dtrain::nn {

/// Passes gradients to GradientAveraging. Its parameter 0 is a list of the parameters that this rank has
/// used: after the average it is above zero on all ranks for those that any rank has used. Gradients on a GPU
/// are downloaded while the backward pass continues; at its end they are waited for and averaged.
class DataParallel::Averaging final : public eager::GradientWatcher {
  public:
    Averaging(const Layer& layer, const Communicator& communicator, const DataParallelOptions& options) {
        for (const auto& parameter : layer.parameters()) leaves_.push_back(parameter.leaf());
        throw_together(communicator, what_is_wrong());
        auto& of_every_pass = GradientWatcher::of_every_pass();
        if (communicator.size() == 1) {
            if (options.every_backward) of_every_pass.push_back(this);
            return;
        }
        used_.assign(leaves_.size(), 0);
        unused_values_.assign(leaves_.size(), 0);
        is_ready_.assign(leaves_.size(), false);
        std::vector<ParameterBuffers> buffers{{"parameters in use", unused_values_, used_}};
        for (const auto& leaf : leaves_)
            buffers.push_back({leaf->name, leaf->value.host_to_write().as<float>(),
                               leaf->gradient.host_to_write().as<float>()});
        averaging_.emplace(communicator, std::move(buffers),
                           GradientAveragingOptions{.bucket_bytes = options.bucket_bytes});
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
        if (!eager::place().is_apart()) {
            averaging_->ready(number + 1);
            return;
        }
        leaves_[number]->gradient.start_reading_to_host();
        coming_.push_back(number);
    }

    void finish() override {
        if (pauses > 0 || !averaging_) return;
        // Those of backward passes within no_sync() that this pass has not reached.
        for (std::size_t number = 0; number < leaves_.size(); ++number)
            if (!is_ready_[number] && leaves_[number]->has_gradient) ready(number);
        wait_for_gradients();
        for (const auto number : coming_) averaging_->ready(number + 1);
        for (const auto& leaf : leaves_) leaf->gradient.host_to_fill();
        averaging_->ready(0);
        averaging_->finish();
        for (std::size_t number = 0; number < leaves_.size(); ++number)
            leaves_[number]->has_gradient = used_[number] > 0;
        begin_anew();
    }

    void average_values() {
        if (!averaging_) return;
        for (const auto& leaf : leaves_) leaf->value.host_to_write();
        averaging_->average_values();
        for (const auto& leaf : leaves_) ++leaf->version;
    }

    bool values_are_identical() const {
        for (const auto& leaf : leaves_) leaf->value.on_host();
        return !averaging_ || averaging_->values_are_identical();
    }

    int pauses = 0;

  private:
    void begin_anew() {
        std::ranges::fill(used_, 0.0F);
        is_ready_.assign(leaves_.size(), false);
        coming_.clear();
    }

    // If waiting fails because of errors in the data, the gradients are discarded.
    void wait_for_gradients() {
        try {
            eager::place().finish();
        } catch (...) {
            begin_anew();
            throw;
        }
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

    std::vector<std::shared_ptr<eager::Leaf>> leaves_;
    std::vector<float> used_;
    std::vector<float> unused_values_;
    std::vector<bool> is_ready_;
    std::vector<std::size_t> coming_;  // in the order in which they became ready
    std::optional<GradientAveraging> averaging_;
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
