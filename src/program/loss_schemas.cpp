// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "program/schemas.hpp"

namespace dtrain::program {
namespace {

Types infer_classification(const Checked& op, std::string_view scores) {
    op.expect(scores, {{any, any}, DataType::float32});
    op.expect("label", {{op.shape(scores)[0]}, DataType::int64});
    return {one_float};
}

}  // namespace

std::vector<Schema> loss_schemas() {
    std::vector<Schema> schemas;
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
    return schemas;
}

}  // namespace dtrain::program
