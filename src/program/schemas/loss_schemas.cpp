// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

// The type of the scores; checks the scores and their labels.
DataType check_classification(const Checked& op, std::string_view scores) {
    const auto type = op.real(scores);
    op.expect(scores, {{any, any}, type});
    op.expect_labels("label", op.shape(scores)[0]);
    return type;
}

// The gradient with respect to scores of a loss per row that was computed from `probabilities`.
Types infer_row_loss_gradient(const Checked& op) {
    const auto type = check_classification(op, "probabilities");
    const auto& shape = op.shape("probabilities");
    op.expect("row_loss@grad", {{shape[0]}, type});
    return {{shape, type}};
}

void make_softmax_with_cross_entropy_gradient(GradientMaker& maker) {
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
}

void make_cross_entropy_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    maker.append({"cross_entropy_grad",
                  {{"probabilities", op.input("probabilities")},
                   {"label", op.input("label")},
                   {"row_loss@grad", maker.of_output("row_loss")}},
                  {{"probabilities@grad", maker.of_input("probabilities")}},
                  {}});
}

void make_bce_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    maker.append(
        {"bce_with_logits_grad",
         {{"logits", op.input("logits")}, {"label", op.input("label")}, {"out@grad", maker.of_output("out")}},
         {{"logits@grad", maker.of_input("logits")}},
         {}});
}

TensorType check_bce(const Checked& op) {
    const TensorType type{op.shape("logits"), op.real("logits")};
    op.expect("label", type);
    return type;
}

}  // namespace

std::vector<Schema> loss_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back({.type = "softmax_with_cross_entropy",
                       .inputs = {{"logits"}, {"label"}},
                       .outputs = {{"probabilities"}, {"row_loss"}},
                       .infer = [](const Checked& op) -> Types {
                           const auto type = check_classification(op, "logits");
                           const auto& shape = op.shape("logits");
                           return {{shape, type}, {{shape[0]}, type}};
                       },
                       .make_gradient = make_softmax_with_cross_entropy_gradient});
    schemas.push_back({.type = "softmax_with_cross_entropy_grad",
                       .inputs = {{"probabilities"}, {"label"}, {"row_loss@grad"}},
                       .outputs = {{"logits@grad"}},
                       .infer = infer_row_loss_gradient});
    schemas.push_back({.type = "cross_entropy",
                       .inputs = {{"probabilities"}, {"label"}},
                       .outputs = {{"row_loss"}},
                       .infer = [](const Checked& op) -> Types {
                           const auto type = check_classification(op, "probabilities");
                           return {{{op.shape("probabilities")[0]}, type}};
                       },
                       .make_gradient = make_cross_entropy_gradient});
    schemas.push_back({.type = "cross_entropy_grad",
                       .inputs = {{"probabilities"}, {"label"}, {"row_loss@grad"}},
                       .outputs = {{"probabilities@grad"}},
                       .infer = infer_row_loss_gradient});
    schemas.push_back({.type = "bce_with_logits",
                       .inputs = {{"logits"}, {"label"}},
                       .outputs = {{"out"}},
                       .infer = [](const Checked& op) -> Types { return {check_bce(op)}; },
                       .make_gradient = make_bce_gradient,
                       .traits = {.element_wise = true}});
    schemas.push_back({.type = "bce_with_logits_grad",
                       .inputs = {{"logits"}, {"label"}, {"out@grad"}},
                       .outputs = {{"logits@grad"}},
                       .infer = [](const Checked& op) -> Types {
                           const auto type = check_bce(op);
                           op.expect("out@grad", type);
                           return {type};
                       },
                       .traits = {.element_wise = true}});
    return schemas;
}

}  // namespace dtrain::program
