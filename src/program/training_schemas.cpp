// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include "program/schemas.hpp"

namespace dtrain::program {
namespace {

Types infer_update(const Checked& op, std::initializer_list<std::string_view> state) {
    const TensorType type{op.shape("parameter"), op.real("parameter")};
    op.expect("parameter", type);
    op.expect("gradient", type);
    for (const auto slot : state) op.expect(slot, type);
    return Types(1 + state.size(), type);
}

}  // namespace

std::vector<Schema> training_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back({.type = "loss_gradient",
                       .inputs = {{.name = "loss", .optional = true}},  // when it is not float32
                       .outputs = {{"out"}},
                       .attributes = {{"value", 1.0}},
                       .infer = [](const Checked& op) -> Types {
                           return {one(op.has("loss") ? op.real("loss") : DataType::float32)};
                       }});

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
    schemas.push_back({.type = "tree_sum",
                       .inputs = {{"gradient", true}},
                       .outputs = {{"gradient", true}},
                       .attributes = {{"virtual_ranks", std::int64_t{1}}},
                       .infer = float_gradients});
    return schemas;
}

}  // namespace dtrain::program
