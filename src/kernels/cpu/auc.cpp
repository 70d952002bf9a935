// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/auc.hpp"

#include <algorithm>
#include <optional>

#include "kernels/data_errors.hpp"
#include "kernels/loops/integers.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

// Numbers of one of the two real types; without a tensor, 1 for each row.
class Reals {
  public:
    explicit Reals(const TensorView& tensor)
        : single_(tensor.type == DataType::float32 ? tensor.as<float>().data() : nullptr),
          double_(tensor.type == DataType::float64 ? tensor.as<double>().data() : nullptr) {}
    Reals() = default;

    double operator[](std::size_t i) const {
        if (single_ != nullptr) return static_cast<double>(single_[i]);
        return double_ != nullptr ? double_[i] : 1.0;
    }

  private:
    const float* single_ = nullptr;
    const double* double_ = nullptr;
};

class Labels {
  public:
    explicit Labels(const TensorView& tensor) {
        if (is_integer(tensor.type))
            integers_.emplace(tensor);
        else
            reals_ = Reals(tensor);
    }

    bool is_positive(std::size_t i) const { return integers_ ? (*integers_)[i] > 0 : reals_[i] > 0.5; }

  private:
    std::optional<Integers> integers_;
    Reals reals_;
};

std::unique_ptr<Kernel> make_auc(const KernelArguments& arguments) {
    return kernel_of([scores = Reals(arguments.input("scores")), count = arguments.input("scores").size(),
                      labels = Labels(arguments.input("label")),
                      weights = arguments.has_input("weight") ? Reals(arguments.input("weight")) : Reals(),
                      positives = arguments.out<double>("positives"),
                      negatives = arguments.out<double>("negatives"), out = arguments.out("out")] {
        const auto bins = positives.size();
        for (std::size_t i = 0; i < count; ++i) {
            const double score = scores[i];
            if (!(score >= 0 && score <= 1)) throw Error(score_outside(score, static_cast<std::int64_t>(i)));
            const auto bin = std::min(bins - 1, static_cast<std::size_t>(score * static_cast<double>(bins)));
            (labels.is_positive(i) ? positives : negatives)[bin] += weights[i];
        }
        out[0] = static_cast<float>(area_under_curve(positives, negatives));
    });
}

}  // namespace

double area_under_curve(std::span<const double> positives, std::span<const double> negatives) {
    double above = 0;  // positives with higher scores
    double area = 0;
    double all_negatives = 0;
    for (std::size_t bin = positives.size(); bin-- > 0;) {
        area += negatives[bin] * (above + positives[bin] / 2);
        above += positives[bin];
        all_negatives += negatives[bin];
    }
    return above > 0 && all_negatives > 0 ? area / (above * all_negatives) : 0.5;
}

Entries auc_kernels() {
    return {{"auc", make_auc}};
}

}  // namespace dtrain::kernels
