// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/gpu_buckets.hpp"

#include "nn/plan.hpp"
#include "nn/run_operator.hpp"

namespace dtrain::eager {
namespace {

TensorView seen_as_tensor(const ElementSpan& elements) {
    return {elements.bytes().data(), {static_cast<std::int64_t>(elements.size())}, elements.type()};
}

/// Runs an operator of one input and one output of the same size.
void run_on(std::string_view type, const ElementSpan& from, const ElementSpan& to,
            const Attributes& attributes) {
    if (from.size() == 0) return;
    const auto x = seen_as_tensor(from);
    const OperatorCall::Input input{.slot = "x", .name = "", .shape = x.shape, .type = x.type};
    const auto plan =
        plan_of({.type = type, .inputs = {input}, .outputs = {"out"}, .attributes = attributes});
    run_operator(plan->forward(), {{"x", x}}, {{"out", seen_as_tensor(to)}});
}

}  // namespace

void GpuBuckets::set_to_zero(const ElementSpan& elements) {
    run_on("fill_like", elements, elements, {{"value", 0.0}});
}

void GpuBuckets::divide(const ElementSpan& from, int parts, const ElementSpan& to) {
    run_on("scale", from, to, {{"scale", 1.0 / parts}, {"bias", 0.0}});
}

}  // namespace dtrain::eager
