// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/operators.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dtrain::program {
namespace {

using Types = std::vector<TensorType>;

const TensorType one_float{{1}, DataType::float32};

Types same_as_x(const Checked& op) {
    op.expect("x", {op.shape("x"), DataType::float32});
    return {{op.shape("x"), DataType::float32}};
}

Schema activation(std::string_view type, std::string_view gradient_type) {
    return {.type = type,
            .inputs = {{"x"}},
            .outputs = {{"out"}},
            .infer = same_as_x,
            .make_gradient = [gradient_type](GradientMaker& maker) {
                maker.append({std::string(gradient_type),
                              {{"out", maker.op().output("out")}, {"out@grad", maker.of_output("out")}},
                              {{"x@grad", maker.of_input("x")}},
                              {}});
            }};
}

Schema activation_gradient(std::string_view type) {
    return {.type = type,
            .inputs = {{"out"}, {"out@grad"}},
            .outputs = {{"x@grad"}},
            .infer = [](const Checked& op) -> Types {
                op.expect("out", {op.shape("out"), DataType::float32});
                op.expect("out@grad", {op.shape("out"), DataType::float32});
                return {{op.shape("out"), DataType::float32}};
            }};
}

Types infer_fc(const Checked& op) {
    op.expect("x", {{any, any}, DataType::float32});
    op.expect("weight", {{op.shape("x")[1], any}, DataType::float32});
    const auto size = op.shape("weight")[1];
    op.expect("bias", {{size}, DataType::float32});
    return {{{op.shape("x")[0], size}, DataType::float32}};
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
    // Parameters first: their all-reduce can start while the input's gradient is computed.
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

Types infer_classification(const Checked& op, std::string_view scores) {
    op.expect(scores, {{any, any}, DataType::float32});
    op.expect("label", {{op.shape(scores)[0]}, DataType::int64});
    return {one_float};
}

Types infer_update(const Checked& op, std::initializer_list<std::string_view> state) {
    const TensorType type{op.shape("parameter"), DataType::float32};
    op.expect("parameter", type);
    op.expect("gradient", type);
    for (const auto slot : state) op.expect(slot, type);
    return Types(1 + state.size(), type);
}

std::vector<Schema> all_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back(activation("relu", "relu_grad"));
    schemas.push_back(activation("tanh", "tanh_grad"));
    schemas.push_back(activation("sigmoid", "sigmoid_grad"));
    schemas.push_back(activation_gradient("relu_grad"));
    schemas.push_back(activation_gradient("tanh_grad"));
    schemas.push_back(activation_gradient("sigmoid_grad"));

    schemas.push_back({.type = "fc",
                       .inputs = {{"x"}, {"weight"}, {"bias"}},
                       .outputs = {{"out"}},
                       .attributes = {{"activation", ""}},
                       .infer = infer_fc,
                       .make_gradient = make_fc_gradient});
    schemas.push_back(
        {.type = "fc_grad_weight",
         .inputs = {{"x"}, {"out@grad"}},
         .outputs = {{"weight@grad"}, {"bias@grad"}},
         .infer = [](const Checked& op) -> Types {
             op.expect("x", {{any, any}, DataType::float32});
             op.expect("out@grad", {{op.shape("x")[0], any}, DataType::float32});
             const auto size = op.shape("out@grad")[1];
             return {{{op.shape("x")[1], size}, DataType::float32}, {{size}, DataType::float32}};
         }});
    schemas.push_back({.type = "fc_grad_input",
                       .inputs = {{"out@grad"}, {"weight"}},
                       .outputs = {{"x@grad"}},
                       .infer = [](const Checked& op) -> Types {
                           op.expect("weight", {{any, any}, DataType::float32});
                           op.expect("out@grad", {{any, op.shape("weight")[1]}, DataType::float32});
                           return {{{op.shape("out@grad")[0], op.shape("weight")[0]}, DataType::float32}};
                       }});

    schemas.push_back(
        {.type = "softmax_with_cross_entropy",
         .inputs = {{"logits"}, {"label"}},
         .outputs = {{"probabilities"}, {"row_loss"}},
         .infer = [](const Checked& op) -> Types {
             infer_classification(op, "logits");
             const auto& shape = op.shape("logits");
             return {{shape, DataType::float32}, {{shape[0]}, DataType::float32}};
         },
         .make_gradient =
             [](GradientMaker& maker) {
                 const auto& op = maker.op();
                 if (!maker.of_output("probabilities").empty())
                     throw ProgramError(
                         fmt::format("operator softmax_with_cross_entropy: only row_loss has a gradient, and "
                                     "the loss depends on probabilities '{}'",
                                     op.output("probabilities")),
                         op.type, op.output("probabilities"));
                 maker.append({"softmax_with_cross_entropy_grad",
                               {{"probabilities", op.output("probabilities")},
                                {"label", op.input("label")},
                                {"row_loss@grad", maker.of_output("row_loss")}},
                               {{"logits@grad", maker.of_input("logits")}},
                               {}});
             }});
    schemas.push_back({.type = "softmax_with_cross_entropy_grad",
                       .inputs = {{"probabilities"}, {"label"}, {"row_loss@grad"}},
                       .outputs = {{"logits@grad"}},
                       .infer = [](const Checked& op) -> Types {
                           infer_classification(op, "probabilities");
                           const auto& shape = op.shape("probabilities");
                           op.expect("row_loss@grad", {{shape[0]}, DataType::float32});
                           return {{shape, DataType::float32}};
                       }});

    schemas.push_back({.type = "mean",
                       .inputs = {{"x"}},
                       .outputs = {{"out"}},
                       .infer = [](const Checked& op) -> Types {
                           op.expect("x", {op.shape("x"), DataType::float32});
                           return {one_float};
                       },
                       .make_gradient =
                           [](GradientMaker& maker) {
                               maker.append(
                                   {"mean_grad",
                                    {{"x", maker.op().input("x")}, {"out@grad", maker.of_output("out")}},
                                    {{"x@grad", maker.of_input("x")}},
                                    {}});
                           }});
    schemas.push_back({.type = "mean_grad",
                       .inputs = {{"x"}, {"out@grad"}},
                       .outputs = {{"x@grad"}},
                       .infer = [](const Checked& op) {
                           op.expect("out@grad", one_float);
                           return same_as_x(op);
                       }});

    schemas.push_back(
        {.type = "weighted_sum",
         .inputs = {{"x"}, {"weight"}},
         .outputs = {{"out"}},
         .infer = [](const Checked& op) -> Types {
             op.expect("x", {{any}, DataType::float32});
             op.expect("weight", {op.shape("x"), DataType::float32});
             return {one_float};
         },
         .make_gradient =
             [](GradientMaker& maker) {
                 maker.append({"weighted_sum_grad",
                               {{"weight", maker.op().input("weight")}, {"out@grad", maker.of_output("out")}},
                               {{"x@grad", maker.of_input("x")}},
                               {}});
             }});
    schemas.push_back({.type = "weighted_sum_grad",
                       .inputs = {{"weight"}, {"out@grad"}},
                       .outputs = {{"x@grad"}},
                       .infer = [](const Checked& op) -> Types {
                           op.expect("weight", {{any}, DataType::float32});
                           op.expect("out@grad", one_float);
                           return {{op.shape("weight"), DataType::float32}};
                       }});

    schemas.push_back({.type = "accuracy",
                       .inputs = {{"scores"}, {"label"}},
                       .outputs = {{"out"}},
                       .infer = [](const Checked& op) { return infer_classification(op, "scores"); }});
    schemas.push_back({.type = "correct_count",
                       .inputs = {{"scores"}, {"label"}, {"weight"}},
                       .outputs = {{"out"}},
                       .infer = [](const Checked& op) {
                           auto types = infer_classification(op, "scores");
                           op.expect("weight", {{op.shape("scores")[0]}, DataType::float32});
                           return types;
                       }});

    schemas.push_back(
        {.type = "sum", .inputs = {{"x", true}}, .outputs = {{"out"}}, .infer = [](const Checked& op) {
             return same_as_x(op);
         }});
    schemas.push_back({.type = "loss_gradient",
                       .inputs = {},
                       .outputs = {{"out"}},
                       .attributes = {{"value", 1.0}},
                       .infer = [](const Checked&) -> Types { return {one_float}; }});

    schemas.push_back({.type = "increment",
                       .inputs = {{"step"}},
                       .outputs = {{"step"}},
                       .infer = [](const Checked& op) -> Types {
                           op.expect("step", {{1}, DataType::int64});
                           return {{{1}, DataType::int64}};
                       }});
    schemas.push_back({.type = "sgd",
                       .inputs = {{"parameter"}, {"gradient"}},
                       .outputs = {{"parameter"}},
                       .attributes = {{"learning_rate", 0.01}},
                       .infer = [](const Checked& op) { return infer_update(op, {}); }});
    schemas.push_back({.type = "momentum",
                       .inputs = {{"parameter"}, {"gradient"}, {"velocity"}},
                       .outputs = {{"parameter"}, {"velocity"}},
                       .attributes = {{"learning_rate", 0.01}, {"mu", 0.9}},
                       .infer = [](const Checked& op) { return infer_update(op, {"velocity"}); }});
    schemas.push_back(
        {.type = "adam",
         .inputs = {{"parameter"}, {"gradient"}, {"moment1"}, {"moment2"}, {"step"}},
         .outputs = {{"parameter"}, {"moment1"}, {"moment2"}},
         .attributes = {{"learning_rate", 0.001}, {"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}},
         .infer = [](const Checked& op) {
             op.expect("step", {{1}, DataType::int64});
             return infer_update(op, {"moment1", "moment2"});
         }});

    const auto float_gradients = [](const Checked& op) {
        op.expect_type("gradient", DataType::float32);
        return op.types_of("gradient");
    };
    const Attributes bucket{{"bucket", std::int64_t{0}}, {"ranks", std::int64_t{1}}};
    schemas.push_back({.type = "allreduce_start",
                       .inputs = {{"gradient", true}},
                       .outputs = {{"gradient", true}},
                       .attributes = bucket,
                       .infer = float_gradients});
    schemas.push_back({.type = "allreduce_wait",
                       .inputs = {{"gradient", true}},
                       .outputs = {{"gradient", true}},
                       .attributes = bucket,
                       .infer = float_gradients});
    std::ranges::sort(schemas, {}, &Schema::type);
    return schemas;
}

const std::vector<Schema>& schemas() {
    static const auto all = all_schemas();
    return all;
}

bool fits(const TensorType& expected, const Variable& given) {
    return expected.type == given.type &&
           std::ranges::equal(expected.shape, given.shape, [](std::int64_t want, std::int64_t have) {
               return want == any || want == have;
           });
}

}  // namespace

std::string to_string(const TensorType& type) {
    std::string text = dtrain::to_string(type.type) + " [";
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += type.shape[i] == any ? "any" : std::to_string(type.shape[i]);
    }
    return text += "]";
}

std::vector<TensorType> Checked::types_of(std::string_view slot) const {
    std::vector<TensorType> types;
    for (const auto& argument : op_.inputs) {
        if (argument.slot != slot) continue;
        const auto& variable = program_.variable(argument.variable);
        types.push_back({variable.shape, variable.type});
    }
    return types;
}

void Checked::expect(std::string_view slot, const TensorType& type) const {
    for (const auto& argument : op_.inputs) {
        if (argument.slot != slot) continue;
        const auto& given = program_.variable(argument.variable);
        if (!fits(type, given))
            throw ProgramError(
                fmt::format("operator {}: {} '{}' is {}, expected {}", op_.type, slot, given.name,
                            to_string(TensorType{given.shape, given.type}), to_string(type)),
                op_.type, given.name);
    }
}

void Checked::expect_type(std::string_view slot, DataType type) const {
    for (const auto& argument : op_.inputs) {
        if (argument.slot != slot) continue;
        const auto& given = program_.variable(argument.variable);
        if (given.type != type)
            throw ProgramError(
                fmt::format("operator {}: {} '{}' is {}, expected {}", op_.type, slot, given.name,
                            dtrain::to_string(given.type), dtrain::to_string(type)),
                op_.type, given.name);
    }
}

const Schema* find_schema(std::string_view type) {
    const auto at = std::ranges::lower_bound(schemas(), type, {}, &Schema::type);
    return at == schemas().end() || at->type != type ? nullptr : &*at;
}

std::vector<std::string> operator_types() {
    std::vector<std::string> types;
    for (const auto& schema : schemas()) types.emplace_back(schema.type);
    return types;
}

}  // namespace dtrain::program
