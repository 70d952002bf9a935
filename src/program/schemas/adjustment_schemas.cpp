// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

// Schema of an operator that adds a term of the parameter to a gradient.
Schema decay(std::string_view type) {
    return {.type = type,
            .inputs = {{"gradient"}, {"parameter"}, {.name = "rows", .optional = true}},
            .outputs = {{"out"}},
            .attributes = {{"coefficient", 0.0}},
            .infer = [](const Checked& op) -> Types {
                TensorType expected{op.shape("parameter"), op.real("parameter")};
                if (op.has("rows")) {
                    op.expect("rows", {{any}, DataType::int64});
                    expected.shape.front() = op.shape("rows")[0];
                }
                op.expect("gradient", expected);
                return {expected};
            },
            .traits = {.in_blocks = true}};
}

}  // namespace

std::vector<Schema> adjustment_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back(decay("l1_decay"));
    schemas.push_back(decay("l2_decay"));
    schemas.push_back({.type = "clip_by_value",
                       .inputs = {{"x"}},
                       .outputs = {{"out"}},
                       .attributes = {{"min", -1.0}, {"max", 1.0}},
                       .infer = same_as_x,
                       .traits = {.in_blocks = true}});
    schemas.push_back({.type = "clip_by_norm",
                       .inputs = {{"x"}},
                       .outputs = {{"out"}},
                       .attributes = {{"norm", 1.0}},
                       .infer = same_as_x});
    schemas.push_back({.type = "global_norm_factor",
                       .inputs = {{"x", true}},
                       .outputs = {{"out"}},
                       .attributes = {{"norm", 1.0}},
                       .infer = [](const Checked& op) -> Types {
                           const auto type = op.real("x");
                           op.expect_type("x", type);
                           return {one(type)};
                       }});
    schemas.push_back({.type = "scale_by",
                       .inputs = {{"x"}, {"factor"}},
                       .outputs = {{"out"}},
                       .infer = [](const Checked& op) {
                           op.expect("factor", one(op.real("x")));
                           return same_as_x(op);
                       }});
    return schemas;
}

}  // namespace dtrain::program
