// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "gpu/operators/cross_entropy.hpp"
#include "gpu/operators/rows.hpp"
#include "gpu/operators/sums.hpp"

namespace dtrain::gpu {
namespace {

template <class Real>
std::unique_ptr<Kernel> make_softmax_with_cross_entropy(KernelContext& context,
                                                        const KernelArguments& arguments) {
    const auto body = SoftmaxWithCrossEntropy<Real>::from(context, arguments);
    return kernel_for_each_row(context, arguments.out<Real>("row_loss").size(), body.classes, body);
}

template <class Real>
std::unique_ptr<Kernel> make_softmax_with_cross_entropy_grad(KernelContext& context,
                                                             const KernelArguments& arguments) {
    return kernel_for_each(context, arguments.out<Real>("logits@grad").size(),
                           SoftmaxWithCrossEntropyGradient<Real>::from(arguments));
}

template <class Real>
struct CrossEntropy {
    const Real* probabilities;
    CheckedLabels label;
    Real* row_loss;
    std::size_t classes;

    ON_DEVICE void operator()(std::size_t row) const {
        const Real* of_row = probabilities + row * classes;
        row_loss[row] =
            label.template loss_of<Real>(row, [&](std::int64_t right) { return -std::log(of_row[right]); });
    }
};

template <class Real>
std::unique_ptr<Kernel> make_cross_entropy(KernelContext& context, const KernelArguments& arguments) {
    const auto classes = columns_of(arguments.input("probabilities"));
    const auto row_loss = arguments.out<Real>("row_loss");
    return kernel_for_each(
        context, row_loss.size(),
        CrossEntropy<Real>{arguments.in<Real>("probabilities").data(),
                           CheckedLabels(context, arguments, classes), row_loss.data(), classes});
}

template <class Real>
struct CrossEntropyGradient {
    const Real* probabilities;
    Integers label;
    const Real* drow_loss;
    Real* dprobabilities;
    std::size_t classes;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto [row, column] = position_of(i, classes);
        const bool is_right = label[row] == static_cast<std::int64_t>(column);
        dprobabilities[i] = is_right ? -drow_loss[row] / probabilities[i] : Real(0);
    }
};

template <class Real>
std::unique_ptr<Kernel> make_cross_entropy_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto dprobabilities = arguments.out<Real>("probabilities@grad");
    return kernel_for_each(context, dprobabilities.size(),
                           CrossEntropyGradient<Real>{
                               arguments.in<Real>("probabilities").data(), Integers(arguments.input("label")),
                               arguments.in<Real>("row_loss@grad").data(), dprobabilities.data(),
                               columns_of(arguments.input("probabilities"))});
}

/// The weight of each row whose largest score (the first of equals) is at its label, otherwise 0.
template <class Real>
struct RightRows {
    const Real* scores;
    Integers label;
    const Real* weight;  ///< null: 1
    std::size_t classes;

    /// To be called by each thread of the team.
    template <class Team>
    ON_GPU Real of(std::size_t row, const Team& team) const {
        const Real* score = scores + row * classes;
        Real largest = score[0];
        std::size_t index = 0;
        for (std::size_t i = team.thread(); i < classes; i += team.threads())
            if (score[i] > largest) {
                largest = score[i];
                index = i;
            }
        const Real of_all = team.max(largest);
        // Selects the first maximum: the one with the largest distance from the end. NaN compares unequal to
        // everything.
        const std::size_t from_end = classes - (largest == of_all ? index : classes);
        index = classes - team.max(from_end);
        if (score[0] != score[0]) index = 0;
        if (label[row] != static_cast<std::int64_t>(index)) return 0;
        return weight != nullptr ? weight[row] : Real(1);
    }
};

template <class Real>
struct RightRowsAlone {
    RightRows<Real> right;
    ON_GPU Real operator()(std::size_t row) const { return right.of(row, Alone{}); }
};

template <class Real>
struct StoreRightRow {
    RightRows<Real> right;
    Real* rows;

    ON_GPU void operator()(std::size_t row, const Block& block) const {
        const Real value = right.of(row, block);
        if (block.thread() == 0) rows[row] = value;
    }
};

template <class Real>
std::unique_ptr<Kernel> make_count(KernelContext& context, const KernelArguments& arguments,
                                   const Real* weight, Real divisor) {
    const auto& scores = arguments.input("scores");
    const RightRows<Real> right{scores.template as<Real>().data(), Integers(arguments.input("label")), weight,
                                columns_of(scores)};
    const auto rows = static_cast<std::size_t>(scores.shape[0]);
    const Store<Real> store{arguments.out<Real>("out").data(), divisor};
    if (right.classes < columns_for_block)
        return kernel_of_sum<Real>(context, rows, RightRowsAlone<Real>{right}, store);
    const auto memory = allocate(rows * sizeof(Real));
    auto* values = reinterpret_cast<Real*>(memory.get());
    std::shared_ptr sum = kernel_of_sum<Real>(context, rows, Elements<Real>{values}, store);
    return kernels::kernel_of([&stream = context.stream, memory, rows, sum,
                               body = RowOfBlock<StoreRightRow<Real>>{{right, values}},
                               threads = threads_for(right.classes)] {
        launch(stream, rows, threads, body);
        sum->run();
    });
}

template <class Real>
std::unique_ptr<Kernel> make_correct_count(KernelContext& context, const KernelArguments& arguments) {
    return make_count<Real>(context, arguments, arguments.in<Real>("weight").data(), 1);
}

template <class Real>
std::unique_ptr<Kernel> make_accuracy(KernelContext& context, const KernelArguments& arguments) {
    return make_count<Real>(context, arguments, nullptr,
                            static_cast<Real>(arguments.input("scores").shape[0]));
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

}  // namespace dtrain::gpu
