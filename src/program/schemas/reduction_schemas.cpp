// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

Types infer_to_one(const Checked& op) {
    return {one(op.real("x"))};
}

// Schema of an operator that reduces all elements of x to one number.
Schema reduction(std::string_view type, std::string_view gradient_type) {
    return {.type = type,
            .inputs = {{"x"}},
            .outputs = {{"out"}},
            .infer = infer_to_one,
            .make_gradient = [gradient_type](GradientMaker& maker) {
                maker.append({std::string(gradient_type),
                              {{"x", maker.op().input("x")}, {"out@grad", maker.of_output("out")}},
                              {{"x@grad", maker.of_input("x")}},
                              {}});
            }};
}

Schema reduction_gradient(std::string_view type) {
    return {.type = type,
            .inputs = {{"x"}, {"out@grad"}},
            .outputs = {{"x@grad"}},
            .infer = [](const Checked& op) {
                op.expect("out@grad", one(op.real("x")));
                return same_as_x(op);
            }};
}

Types infer_count(const Checked& op) {
    const auto type = op.real("scores");
    op.expect("scores", {{any, any}, type});
    op.expect_labels("label", op.shape("scores")[0]);
    op.expect("weight", {{op.shape("scores")[0]}, type});
    return {one(type)};
}

Types infer_auc(const Checked& op) {
    op.real("scores");
    const auto rows = element_count(op.shape("scores"));
    if (element_count(op.shape("label")) != rows)
        op.refuse("label", fmt::format("one for each of the {} scores", rows));
    if (op.has("weight")) op.expect("weight", {{rows}, op.real("weight")});
    op.expect("positives", {{any}, DataType::float64});
    const TensorType histogram{op.shape("positives"), DataType::float64};
    op.expect("negatives", histogram);
    return {one(DataType::float32), histogram, histogram};
}

}  // namespace

std::vector<Schema> reduction_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back(reduction("mean", "mean_grad"));
    schemas.push_back(reduction_gradient("mean_grad"));
    schemas.push_back(reduction("reduce_sum", "reduce_sum_grad"));
    schemas.push_back(reduction_gradient("reduce_sum_grad"));

    schemas.push_back(
        {.type = "weighted_sum",
         .inputs = {{"x"}, {"weight"}},
         .outputs = {{"out"}},
         .infer = [](const Checked& op) -> Types {
             const auto type = op.real("x");
             op.expect("x", {{any}, type});
             op.expect("weight", {op.shape("x"), type});
             return {one(type)};
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
                           const auto type = op.real("weight");
                           op.expect("weight", {{any}, type});
                           op.expect("out@grad", one(type));
                           return {{op.shape("weight"), type}};
                       }});

    schemas.push_back(
        {.type = "accuracy", .inputs = {{"scores"}, {"label"}}, .outputs = {{"out"}}, .infer = infer_count});
    schemas.push_back({.type = "correct_count",
                       .inputs = {{"scores"}, {"label"}, {"weight"}},
                       .outputs = {{"out"}},
                       .infer = infer_count});
    schemas.push_back(
        {.type = "auc",
         .inputs =
             {{"scores"}, {"label"}, {.name = "weight", .optional = true}, {"positives"}, {"negatives"}},
         .outputs = {{"out"}, {"positives"}, {"negatives"}},
         .infer = infer_auc});
    return schemas;
}

}  // namespace dtrain::program
