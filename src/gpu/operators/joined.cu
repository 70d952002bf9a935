// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <type_traits>

#include "gpu/operators/column_sums.hpp"
#include "gpu/operators/cross_entropy.hpp"
#include "gpu/operators/in_turn.hpp"
#include "gpu/operators/joined.hpp"
#include "gpu/operators/loss_gradient.hpp"
#include "gpu/operators/rows.hpp"
#include "gpu/operators/sums.hpp"
#include "gpu/operators/weight_product.hpp"
#include "kernels/functors/functions.hpp"

namespace dtrain::gpu {
namespace {

using kernels::ChainLink;
using Links = std::vector<ChainLink>;

bool are(const Links& links, const std::vector<std::string_view>& types) {
    return std::ranges::equal(links, types, {}, &ChainLink::type);
}

std::unique_ptr<Kernel> one_by_one(KernelContext& context, const Links& links) {
    std::vector<std::shared_ptr<Kernel>> all;
    for (const auto& [type, arguments] : links) all.push_back(find_kernel(type)(context, arguments));
    return kernels::kernel_of([all = std::move(all)] {
        for (const auto& kernel : all) kernel->run();
    });
}

/// A gradient that is computed and stored while its columns are summed.
template <class Real, class Function>
struct GradientTerms {
    const Real* read;  // the activation's result, or its argument
    const Real* dy;
    Real* dx;
    std::size_t columns;
    ON_DEVICE Real operator()(std::size_t row, std::size_t column) const {
        const std::size_t i = row * columns + column;
        const Real gradient = Function::gradient(read[i], dy[i]);
        dx[i] = gradient;
        return gradient;
    }
};

/// An activation's gradient fused with that of the bias before it; then that of the weights.
template <class Real, class Function>
std::unique_ptr<Kernel> make_activation_and_weight(KernelContext& context, const Links& links) {
    constexpr std::size_t most = std::size_t{1} << 18U;  // above it, the sums have too few blocks
    const auto& activation = links[0].arguments;
    const auto& weight = links[1].arguments;
    const auto dx = activation.out<Real>("x@grad");
    const auto dbias = weight.out<Real>("bias@grad");
    if (dx.size() > most || weight.input("out@grad").data != dx.data()) return one_by_one(context, links);
    const auto columns = dbias.size();
    return kernels::kernel_of([&stream = context.stream,
                               sums = ColumnSums<Real, GradientTerms<Real, Function>>(
                                   dx.size() / columns, columns,
                                   {activation.in<Real>(Function::gradient_reads).data(),
                                    activation.in<Real>("out@grad").data(), dx.data(), columns},
                                   dbias.data()),
                               product = std::shared_ptr(make_weight_product(context, weight))] {
        sums.run(stream);
        product->run();
    });
}

/// A classifier's complete loss and its gradient with respect to the logits, in one block.
template <class Real>
auto small_loss(KernelContext& context, const Links& links) {
    const auto& loss = links[0].arguments;
    const auto& mean = links[1].arguments;
    const auto& mean_grad = links[3].arguments;
    const auto& grad = links[4].arguments;
    const auto values = mean.in<Real>("x");
    const auto gradients = mean_grad.out<Real>("x@grad");
    using Forward = Each<RowOfThread<SoftmaxWithCrossEntropy<Real>>>;
    using Mean = FinishedSum<Real, Elements<Real>, Store<Real>>;
    using Start = Each<LossGradient<Real>>;
    using OfRows = Each<Spread<Real>>;
    using Backward = Each<SoftmaxWithCrossEntropyGradient<Real>>;
    return InTurn<Forward, Mean, Start, OfRows, Backward>{
        {loss.out<Real>("row_loss").size(), {SoftmaxWithCrossEntropy<Real>::from(context, loss)}},
        {{{values.data()}, values.size(), {mean.out<Real>("out").data(), static_cast<Real>(values.size())}},
         {{1, LossGradient<Real>::from(links[2].arguments)},
          {{gradients.size(),
            {mean_grad.in<Real>("out@grad").data(), static_cast<Real>(gradients.size()), gradients.data()}},
           {{grad.out<Real>("logits@grad").size(), SoftmaxWithCrossEntropyGradient<Real>::from(grad)}}}}}};
}

bool is_small(const Links& links) {
    constexpr std::size_t most = 8192;
    const auto& logits = links[0].arguments.input("logits");
    return columns_of(logits) < columns_for_block && logits.size() <= most &&
           links[1].arguments.input("x").size() <= most && links[3].arguments.output("x@grad").size() <= most;
}

constexpr unsigned threads_of_loss = 512;

template <class Real>
std::unique_ptr<Kernel> make_loss(KernelContext& context, const Links& links) {
    if (!is_small(links)) return one_by_one(context, links);
    return kernel_of_blocks(context, 1, threads_of_loss, small_loss<Real>(context, links));
}

/// The loss, fused with the gradient of the bias of the logits; then that of the weights.
template <class Real>
std::unique_ptr<Kernel> make_loss_and_weight(KernelContext& context, const Links& links) {
    using Sums = ColumnSums<Real, MatrixTerms<Real>>;
    if (!is_small(links)) return one_by_one(context, links);
    const auto& weight = links[5].arguments;
    const auto dy = weight.in<Real>("out@grad");
    const auto dbias = weight.out<Real>("bias@grad");
    const auto columns = dbias.size();
    Sums sums(dy.size() / columns, columns, {dy.data(), columns}, dbias.data());
    if (sums.of_one_block() == nullptr) return one_by_one(context, links);
    using Loss = decltype(small_loss<Real>(context, links));
    const InTurn<Loss, TileSums<Real, MatrixTerms<Real>>> body{small_loss<Real>(context, links),
                                                               {*sums.of_one_block()}};
    return kernels::kernel_of([&stream = context.stream, memory = std::move(sums), body,
                               product = std::shared_ptr(make_weight_product(context, weight))] {
        launch(stream, 1, threads_of_loss, body);
        product->run();
    });
}

using Make = std::unique_ptr<Kernel> (*)(KernelContext&, const Links&);

struct JoinedForm {
    std::vector<std::string_view> types;
    Make of_float;
    Make of_double;
};

std::vector<JoinedForm> all_joined_forms() {
    std::vector<JoinedForm> all{
        {{"softmax_with_cross_entropy", "mean", "loss_gradient", "mean_grad",
          "softmax_with_cross_entropy_grad"},
         make_loss<float>,
         make_loss<double>},
        {{"softmax_with_cross_entropy", "mean", "loss_gradient", "mean_grad",
          "softmax_with_cross_entropy_grad", "fc_grad_weight"},
         make_loss_and_weight<float>,
         make_loss_and_weight<double>},
    };
    kernels::Activations::for_each([&]<class Function>(std::type_identity<Function>) {
        all.push_back({{Function::gradient_type, "fc_grad_weight"},
                       make_activation_and_weight<float, Function>,
                       make_activation_and_weight<double, Function>});
    });
    return all;
}

const std::vector<JoinedForm>& joined_forms() {
    static const auto all = all_joined_forms();
    return all;
}

}  // namespace

std::unique_ptr<Kernel> make_joined_kernel(KernelContext& context, const Links& links) {
    const auto form =
        std::ranges::find_if(joined_forms(), [&](const JoinedForm& each) { return are(links, each.types); });
    if (form == joined_forms().end()) return nullptr;
    const bool is_double = links.front().arguments.real_type() == DataType::float64;
    return (is_double ? form->of_double : form->of_float)(context, links);
}

}  // namespace dtrain::gpu
