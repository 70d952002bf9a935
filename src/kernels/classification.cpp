// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "kernels/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

std::size_t columns_of(const TensorView& matrix) {
    return static_cast<std::size_t>(matrix.shape[1]);
}

bool is_right(const float* scores, std::int64_t label, std::size_t classes) {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < classes; ++i)
        if (scores[i] > scores[largest]) largest = i;
    return static_cast<std::int64_t>(largest) == label;
}

}  // namespace

std::unique_ptr<Kernel> make_softmax_with_cross_entropy(const KernelArguments& arguments) {
    return kernel_of([logits = arguments.in("logits"), label = arguments.input("label").as<std::int64_t>(),
                      probabilities = arguments.out("probabilities"), row_loss = arguments.out("row_loss"),
                      classes = columns_of(arguments.input("logits"))] {
        for (std::size_t row = 0; row < label.size(); ++row) {
            const auto right = label[row];
            if (right < 0 || right >= static_cast<std::int64_t>(classes))
                throw Error(fmt::format("label {} in row {} of the batch is outside of the {} classes 0..{}",
                                        right, row, classes, classes - 1));
            const float* x = &logits[row * classes];
            float* p = &probabilities[row * classes];
            const float largest = loops::max(x, classes);
            const float sum = loops::exp_minus(largest, x, p, classes);
            loops::scale(1.0F / sum, p, p, classes);
            row_loss[row] = largest + std::log(sum) - x[right];
        }
    });
}

std::unique_ptr<Kernel> make_softmax_with_cross_entropy_grad(const KernelArguments& arguments) {
    return kernel_of([probabilities = arguments.in("probabilities"),
                      label = arguments.input("label").as<std::int64_t>(),
                      drow_loss = arguments.in("row_loss@grad"), dlogits = arguments.out("logits@grad"),
                      classes = columns_of(arguments.input("probabilities"))] {
        for (std::size_t row = 0; row < label.size(); ++row) {
            float* dx = &dlogits[row * classes];
            loops::scale(drow_loss[row], &probabilities[row * classes], dx, classes);
            dx[label[row]] -= drow_loss[row];
        }
    });
}

std::unique_ptr<Kernel> make_weighted_sum(const KernelArguments& arguments) {
    return kernel_of([rows = arguments.in("x"), weight = arguments.in("weight"), out = arguments.out("out")] {
        out[0] = loops::dot(rows.data(), weight.data(), rows.size());
    });
}

std::unique_ptr<Kernel> make_weighted_sum_grad(const KernelArguments& arguments) {
    return kernel_of(
        [weight = arguments.in("weight"), dy = arguments.in("out@grad"), dx = arguments.out("x@grad")] {
            loops::scale(dy[0], weight.data(), dx.data(), dx.size());
        });
}

std::unique_ptr<Kernel> make_correct_count(const KernelArguments& arguments) {
    return kernel_of([scores = arguments.in("scores"), label = arguments.input("label").as<std::int64_t>(),
                      weight = arguments.in("weight"), out = arguments.out("out"),
                      classes = columns_of(arguments.input("scores"))] {
        float count = 0.0F;
        for (std::size_t row = 0; row < label.size(); ++row)
            if (is_right(&scores[row * classes], label[row], classes)) count += weight[row];
        out[0] = count;
    });
}

std::unique_ptr<Kernel> make_accuracy(const KernelArguments& arguments) {
    return kernel_of([scores = arguments.in("scores"), label = arguments.input("label").as<std::int64_t>(),
                      out = arguments.out("out"), classes = columns_of(arguments.input("scores"))] {
        std::size_t count = 0;
        for (std::size_t row = 0; row < label.size(); ++row)
            if (is_right(&scores[row * classes], label[row], classes)) ++count;
        out[0] = static_cast<float>(count) / static_cast<float>(label.size());
    });
}

}  // namespace dtrain::kernels
