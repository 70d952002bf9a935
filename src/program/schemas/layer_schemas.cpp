// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include <fmt/format.h>

#include "kernels/functors/functions.hpp"
#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

// Schema of a function of one variable.
Schema unary(std::string_view type, std::string_view gradient_type, std::string_view gradient_reads) {
    return {.type = type,
            .inputs = {{"x"}},
            .outputs = {{"out"}},
            .infer = same_as_x,
            .make_gradient = [=](GradientMaker& maker) {
                const auto& op = maker.op();
                const auto& read = gradient_reads == "x" ? op.input("x") : op.output("out");
                maker.append({std::string(gradient_type),
                              {{std::string(gradient_reads), read}, {"out@grad", maker.of_output("out")}},
                              {{"x@grad", maker.of_input("x")}},
                              {}});
            }};
}

// Its gradient, which reads the function's result or its argument.
Schema unary_gradient(std::string_view type, std::string_view reads) {
    return {.type = type,
            .inputs = {{reads}, {"out@grad"}},
            .outputs = {{"x@grad"}},
            .infer = [reads](const Checked& op) -> Types {
                const TensorType result{op.shape(reads), op.real(reads)};
                op.expect("out@grad", result);
                return {result};
            }};
}

// The functions of one variable that kernels/functors/functions.hpp has.
std::vector<Schema> unary_schemas() {
    std::vector<Schema> schemas;
    kernels::UnaryFunctions::for_each([&]<class Function>(std::type_identity<Function>) {
        schemas.push_back(unary(Function::type, Function::gradient_type, Function::gradient_reads));
        schemas.back().traits.activation = kernels::Activations::contains(Function::type);
        schemas.push_back(unary_gradient(Function::gradient_type, Function::gradient_reads));
    });
    for (auto& schema : schemas) schema.traits.element_wise = true;
    return schemas;
}

Types infer_fc(const Checked& op) {
    const auto type = op.real("x");
    op.expect("x", {{any, any}, type});
    op.expect("weight", {{op.shape("x")[1], any}, type});
    const auto size = op.shape("weight")[1];
    op.expect("bias", {{size}, type});
    return {{{op.shape("x")[0], size}, type}};
}

void make_fc_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    if (const auto& done = std::get<std::string>(op.attributes.at("activation")); !done.empty())
        throw ProgramError(
            fmt::format("operator fc: an activation that is fused ('{}') has no gradient operator; "
                        "append_backward() comes before fuse_activations()",
                        done),
            op.type, op.output("out"));
    const auto dout = maker.of_output("out");
    // Parameters first: their all-reduce can start while the input's gradient is being computed.
    const bool wants_weight = !maker.of_input("weight").empty();
    const bool wants_bias = !maker.of_input("bias").empty();
    if (wants_weight || wants_bias)
        maker.append({"fc_grad_weight",
                      {{"x", op.input("x")}, {"out@grad", dout}},
                      {{"weight@grad", maker.of_input_or_unused("weight")},
                       {"bias@grad", maker.of_input_or_unused("bias")}},
                      {}});
    if (const auto dx = maker.of_input("x"); !dx.empty())
        maker.append(
            {"fc_grad_input", {{"out@grad", dout}, {"weight", op.input("weight")}}, {{"x@grad", dx}}, {}});
}

}  // namespace

std::vector<Schema> layer_schemas() {
    auto schemas = unary_schemas();
    schemas.push_back(unary("softmax", "softmax_grad", "out"));  // along the last axis
    schemas.push_back(unary_gradient("softmax_grad", "out"));
    schemas.push_back({.type = "fc",
                       .inputs = {{"x"}, {"weight"}, {"bias"}},
                       .outputs = {{"out"}},
                       .attributes = {{"activation", ""}},
                       .infer = infer_fc,
                       .make_gradient = make_fc_gradient});
    schemas.push_back({.type = "fc_grad_weight",
                       .inputs = {{"x"}, {"out@grad"}},
                       .outputs = {{"weight@grad"}, {"bias@grad"}},
                       .infer = [](const Checked& op) -> Types {
                           const auto type = op.real("x");
                           op.expect("x", {{any, any}, type});
                           op.expect("out@grad", {{op.shape("x")[0], any}, type});
                           const auto size = op.shape("out@grad")[1];
                           return {{{op.shape("x")[1], size}, type}, {{size}, type}};
                       }});
    schemas.push_back({.type = "fc_grad_input",
                       .inputs = {{"out@grad"}, {"weight"}},
                       .outputs = {{"x@grad"}},
                       .infer = [](const Checked& op) -> Types {
                           const auto type = op.real("weight");
                           op.expect("weight", {{any, any}, type});
                           op.expect("out@grad", {{any, op.shape("weight")[1]}, type});
                           return {{{op.shape("out@grad")[0], op.shape("weight")[0]}, type}};
                       }});
    return schemas;
}

}  // namespace dtrain::program
