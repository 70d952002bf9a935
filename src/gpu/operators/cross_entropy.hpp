// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gpu/operators/give.hpp"
#include "gpu/operators/integers.hpp"
#include "gpu/operators/softmax_row.hpp"
#include "kernels/data_errors.hpp"

namespace dtrain::gpu {

inline std::size_t columns_of(const TensorView& matrix) {
    return static_cast<std::size_t>(matrix.shape[1]);
}

/// Labels that are validated before they are used.
struct CheckedLabels {
    Integers labels;
    std::int64_t classes;
    DeviceError error;

    CheckedLabels(KernelContext& context, const KernelArguments& arguments, std::size_t columns)
        : labels(arguments.input("label")),
          classes(static_cast<std::int64_t>(columns)),
          error(context.error_of([classes = classes](long long row, long long label) {
              return kernels::label_outside(label, row, classes);
          })) {}

    /// loss(label) of a row; if the label is invalid, reports it and returns 0.
    template <class Real, class Loss>
    ON_DEVICE Real loss_of(std::size_t row, const Loss& loss) const {
        const auto label = labels[row];
        if (label >= 0 && label < classes) return loss(label);
        error.report(static_cast<long long>(row), label);
        return 0;
    }
};

template <class Real>
struct SoftmaxWithCrossEntropy {
    const Real* logits;
    CheckedLabels label;
    Real* probabilities;
    Real* row_loss;
    std::size_t classes;

    static SoftmaxWithCrossEntropy from(KernelContext& context, const KernelArguments& arguments) {
        const auto classes = columns_of(arguments.input("logits"));
        return {arguments.in<Real>("logits").data(), CheckedLabels(context, arguments, classes),
                arguments.out<Real>("probabilities").data(), arguments.out<Real>("row_loss").data(), classes};
    }

    template <class Team>
    ON_GPU void operator()(std::size_t row, const Team& team) const {
        const Real* x = logits + row * classes;
        const auto [largest, sum] = softmax_row(team, x, probabilities + row * classes, classes);
        if (team.thread() != 0) return;
        const Real of_all = largest + std::log(sum);
        row_loss[row] =
            label.template loss_of<Real>(row, [&](std::int64_t right) { return of_all - x[right]; });
    }
};

template <class Real>
struct SoftmaxWithCrossEntropyGradient {
    const Real* probabilities;
    Integers label;
    const Real* drow_loss;
    Real* dlogits;
    std::size_t classes;

    static SoftmaxWithCrossEntropyGradient from(const KernelArguments& arguments) {
        return {arguments.in<Real>("probabilities").data(), Integers(arguments.input("label")),
                arguments.in<Real>("row_loss@grad").data(), arguments.out<Real>("logits@grad").data(),
                columns_of(arguments.input("probabilities"))};
    }

    ON_DEVICE void operator()(std::size_t i) const {
        const auto [row, column] = position_of(i, classes);
        const bool is_right = label[row] == static_cast<std::int64_t>(column);
        dlogits[i] = drow_loss[row] * probabilities[i] - (is_right ? drow_loss[row] : Real(0));
    }
};

}  // namespace dtrain::gpu
