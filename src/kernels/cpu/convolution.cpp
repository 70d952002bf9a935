// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/convolution_shape.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/plain_convolution.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

using dnnl::memory;

// Memory layouts and parameters for all three primitives of a convolution.
struct Layouts {
    Layouts(const SlidingWindow& window, ComputeType numbers)
        : factor(factor_type(numbers)),
          input{window.batch, window.in_channels, window.y.in, window.x.in},
          filter{window.out_channels, window.in_channels, window.y.window, window.x.window},
          output{window.batch, window.out_channels, window.y.out, window.x.out},
          stride{window.y.stride, window.x.stride},
          begin{window.y.padding, window.x.padding},
          end{after(window.y), after(window.x)} {}

    // Padding after an image, as far as windows reach.
    static std::int64_t after(const Sliding& axis) {
        const auto seen = (axis.out - 1) * axis.stride + axis.window - axis.padding;
        return std::max<std::int64_t>(seen - axis.in, 0);
    }

    memory::desc any_factor(const memory::dims& dims) const {
        return {dims, factor, memory::format_tag::any};
    }
    static memory::desc any_result(const memory::dims& dims) {
        return {dims, memory::data_type::f32, memory::format_tag::any};
    }
    static memory::desc plain(const memory::dims& dims) {
        return {dims, memory::data_type::f32,
                dims.size() == 1 ? memory::format_tag::a : memory::format_tag::abcd};
    }

    dnnl::convolution_forward::primitive_desc forward() const {
        return prepare<dnnl::convolution_forward>(
            dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, any_factor(input),
            any_factor(filter), plain({output[1]}), any_result(output), stride, begin, end);
    }

    memory::data_type factor;
    memory::dims input;
    memory::dims filter;
    memory::dims output;
    memory::dims stride;
    memory::dims begin;
    memory::dims end;
};

std::unique_ptr<Kernel> kernel_of_sequence(OnednnSequence sequence) {
    return kernel_of([steps = std::move(sequence)]() mutable { steps.run(); });
}

std::unique_ptr<Kernel> make_conv2d(const KernelArguments& arguments) {
    const auto& x = arguments.input("x");
    const auto& filter = arguments.input("filter");
    const auto& out = arguments.output("out");
    const Layouts layouts(convolution_window(arguments, x, filter, out), arguments.products);
    const auto prepared = layouts.forward();
    OnednnSequence sequence("conv2d");
    const auto source =
        sequence.in_layout(OnednnSequence::at(Layouts::plain(layouts.input), x.data), prepared.src_desc());
    const auto weights = sequence.in_layout(OnednnSequence::at(Layouts::plain(layouts.filter), filter.data),
                                            prepared.weights_desc());
    const auto result = OnednnSequence::at(Layouts::plain(layouts.output), out.data);
    const auto target = OnednnSequence::target(result, prepared.dst_desc());
    const auto bias = OnednnSequence::at(prepared.bias_desc(), arguments.input("bias").data);
    sequence.add(
        dnnl::convolution_forward(prepared), prepared.scratchpad_desc(),
        {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, target}});
    sequence.add_copy_back(target, result);
    return kernel_of_sequence(std::move(sequence));
}

std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelArguments& arguments) {
    const auto& dout = arguments.input("out@grad");
    const auto& filter = arguments.input("filter");
    const auto& dx = arguments.output("x@grad");
    const Layouts layouts(convolution_window(arguments, dx, filter, dout), arguments.products);
    const auto prepared = prepare_gradient<dnnl::convolution_backward_data>(
        layouts.forward(), dnnl::algorithm::convolution_direct, Layouts::any_result(layouts.input),
        layouts.any_factor(layouts.filter), layouts.any_factor(layouts.output), layouts.stride, layouts.begin,
        layouts.end);
    OnednnSequence sequence("the gradient of conv2d by its input");
    const auto source = sequence.in_layout(OnednnSequence::at(Layouts::plain(layouts.output), dout.data),
                                           prepared.diff_dst_desc());
    const auto weights = sequence.in_layout(OnednnSequence::at(Layouts::plain(layouts.filter), filter.data),
                                            prepared.weights_desc());
    const auto result = OnednnSequence::at(Layouts::plain(layouts.input), dx.data);
    const auto target = OnednnSequence::target(result, prepared.diff_src_desc());
    sequence.add(dnnl::convolution_backward_data(prepared), prepared.scratchpad_desc(),
                 {{DNNL_ARG_DIFF_DST, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, target}});
    sequence.add_copy_back(target, result);
    return kernel_of_sequence(std::move(sequence));
}

std::unique_ptr<Kernel> make_conv2d_grad_filter(const KernelArguments& arguments) {
    const auto& x = arguments.input("x");
    const auto& dout = arguments.input("out@grad");
    const auto& dfilter = arguments.output("filter@grad");
    const Layouts layouts(convolution_window(arguments, x, dfilter, dout), arguments.products);
    const auto prepared = prepare_gradient<dnnl::convolution_backward_weights>(
        layouts.forward(), dnnl::algorithm::convolution_direct, layouts.any_factor(layouts.input),
        Layouts::any_result(layouts.filter), Layouts::plain({layouts.output[1]}),
        layouts.any_factor(layouts.output), layouts.stride, layouts.begin, layouts.end);
    OnednnSequence sequence("the gradient of conv2d by its filter");
    const auto source =
        sequence.in_layout(OnednnSequence::at(Layouts::plain(layouts.input), x.data), prepared.src_desc());
    const auto gradient = sequence.in_layout(OnednnSequence::at(Layouts::plain(layouts.output), dout.data),
                                             prepared.diff_dst_desc());
    const auto result = OnednnSequence::at(Layouts::plain(layouts.filter), dfilter.data);
    const auto target = OnednnSequence::target(result, prepared.diff_weights_desc());
    const auto dbias = OnednnSequence::at(prepared.diff_bias_desc(), arguments.output("bias@grad").data);
    sequence.add(dnnl::convolution_backward_weights(prepared), prepared.scratchpad_desc(),
                 {{DNNL_ARG_SRC, source},
                  {DNNL_ARG_DIFF_DST, gradient},
                  {DNNL_ARG_DIFF_WEIGHTS, target},
                  {DNNL_ARG_DIFF_BIAS, dbias}});
    sequence.add_copy_back(target, result);
    return kernel_of_sequence(std::move(sequence));
}

}  // namespace

Entries convolution_kernels() {
    return {
        {"conv2d", by_type<make_conv2d, make_plain_conv2d<double>>},
        {"conv2d_grad_filter", by_type<make_conv2d_grad_filter, make_plain_conv2d_grad_filter<double>>},
        {"conv2d_grad_input", by_type<make_conv2d_grad_input, make_plain_conv2d_grad_input<double>>},
    };
}

}  // namespace dtrain::kernels
