// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/data_errors.hpp"
#include "kernels/loops/integers.hpp"
#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

std::size_t columns_of(const TensorView& matrix) {
    return static_cast<std::size_t>(matrix.shape[1]);
}

// The label of a row as an index.
std::size_t checked_label(const Integers& labels, std::size_t row, std::size_t classes) {
    const auto label = labels[row];
    if (label < 0 || label >= static_cast<std::int64_t>(classes))
        throw Error(label_outside(label, static_cast<std::int64_t>(row), static_cast<std::int64_t>(classes)));
    return static_cast<std::size_t>(label);
}

template <class Real>
bool is_right(const Real* scores, std::int64_t label, std::size_t classes) {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < classes; ++i)
        if (scores[i] > scores[largest]) largest = i;
    return static_cast<std::int64_t>(largest) == label;
}

template <class Real>
std::unique_ptr<Kernel> make_softmax_with_cross_entropy(const KernelArguments& arguments) {
    return kernel_of([logits = arguments.in<Real>("logits"), label = Integers(arguments.input("label")),
                      probabilities = arguments.out<Real>("probabilities"),
                      row_loss = arguments.out<Real>("row_loss"),
                      classes = columns_of(arguments.input("logits"))] {
        for (std::size_t row = 0; row < label.size(); ++row) {
            const auto right = checked_label(label, row, classes);
            const Real* x = &logits[row * classes];
            Real* p = &probabilities[row * classes];
            const Real largest = loops::max(x, classes);
            const Real sum = loops::exp_minus(largest, x, p, classes);
            loops::scale(Real(1) / sum, p, p, classes);
            row_loss[row] = largest + std::log(sum) - x[right];
        }
    });
}

template <class Real>
std::unique_ptr<Kernel> make_softmax_with_cross_entropy_grad(const KernelArguments& arguments) {
    return kernel_of(
        [probabilities = arguments.in<Real>("probabilities"), label = Integers(arguments.input("label")),
         drow_loss = arguments.in<Real>("row_loss@grad"), dlogits = arguments.out<Real>("logits@grad"),
         classes = columns_of(arguments.input("probabilities"))] {
            for (std::size_t row = 0; row < label.size(); ++row) {
                Real* dx = &dlogits[row * classes];
                loops::scale(drow_loss[row], &probabilities[row * classes], dx, classes);
                dx[label[row]] -= drow_loss[row];
            }
        });
}

template <class Real>
std::unique_ptr<Kernel> make_cross_entropy(const KernelArguments& arguments) {
    return kernel_of([probabilities = arguments.in<Real>("probabilities"),
                      label = Integers(arguments.input("label")), row_loss = arguments.out<Real>("row_loss"),
                      classes = columns_of(arguments.input("probabilities"))] {
        for (std::size_t row = 0; row < label.size(); ++row)
            row_loss[row] = -std::log(probabilities[row * classes + checked_label(label, row, classes)]);
    });
}

template <class Real>
std::unique_ptr<Kernel> make_cross_entropy_grad(const KernelArguments& arguments) {
    return kernel_of([probabilities = arguments.in<Real>("probabilities"),
                      label = Integers(arguments.input("label")),
                      drow_loss = arguments.in<Real>("row_loss@grad"),
                      dprobabilities = arguments.out<Real>("probabilities@grad"),
                      classes = columns_of(arguments.input("probabilities"))] {
        std::ranges::fill(dprobabilities, Real(0));
        for (std::size_t row = 0; row < label.size(); ++row) {
            const auto at = row * classes + static_cast<std::size_t>(label[row]);
            dprobabilities[at] = -drow_loss[row] / probabilities[at];
        }
    });
}

template <class Real>
std::unique_ptr<Kernel> make_correct_count(const KernelArguments& arguments) {
    return kernel_of([scores = arguments.in<Real>("scores"), label = Integers(arguments.input("label")),
                      weight = arguments.in<Real>("weight"), out = arguments.out<Real>("out"),
                      classes = columns_of(arguments.input("scores"))] {
        Real count = 0;
        for (std::size_t row = 0; row < label.size(); ++row)
            if (is_right(&scores[row * classes], label[row], classes)) count += weight[row];
        out[0] = count;
    });
}

template <class Real>
std::unique_ptr<Kernel> make_accuracy(const KernelArguments& arguments) {
    return kernel_of([scores = arguments.in<Real>("scores"), label = Integers(arguments.input("label")),
                      out = arguments.out<Real>("out"), classes = columns_of(arguments.input("scores"))] {
        std::size_t count = 0;
        for (std::size_t row = 0; row < label.size(); ++row)
            if (is_right(&scores[row * classes], label[row], classes)) ++count;
        out[0] = static_cast<Real>(count) / static_cast<Real>(label.size());
    });
}

}  // namespace

Entries classification_kernels() {
    return {
        {"accuracy", by_type<make_accuracy<float>, make_accuracy<double>>},
        {"correct_count", by_type<make_correct_count<float>, make_correct_count<double>>},
        {"cross_entropy", by_type<make_cross_entropy<float>, make_cross_entropy<double>>},
        {"cross_entropy_grad", by_type<make_cross_entropy_grad<float>, make_cross_entropy_grad<double>>},
        {"softmax_with_cross_entropy",
         by_type<make_softmax_with_cross_entropy<float>, make_softmax_with_cross_entropy<double>>},
        {"softmax_with_cross_entropy_grad",
         by_type<make_softmax_with_cross_entropy_grad<float>, make_softmax_with_cross_entropy_grad<double>>},
    };
}

}  // namespace dtrain::kernels
