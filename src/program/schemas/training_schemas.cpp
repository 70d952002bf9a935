// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "program/optim/update_attributes.hpp"
#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

// If not 0, the operator changes nothing in this step.
void expect_skip(const Checked& op) {
    if (op.has("skip")) op.expect("skip", one(DataType::int64));
}

// Checks an update of a parameter with this state; the gradient may be sparse.
Types infer_update(const Checked& op, std::span<const std::string_view> state) {
    const TensorType type{op.shape("parameter"), op.real("parameter")};
    op.expect("parameter", type);
    auto gradient = type;
    if (op.has("rows")) {
        op.expect("rows", {{any}, DataType::int64});
        gradient.shape.front() = op.shape("rows")[0];
    }
    op.expect("gradient", gradient);
    if (op.has("learning_rate")) op.expect("learning_rate", one(DataType::float32));
    if (op.has("step")) op.expect("step", one(DataType::int64));
    expect_skip(op);
    for (const auto slot : state) op.expect(slot, type);
    return Types(1 + state.size(), type);
}

// Schema of an update that reads and writes state variables of the parameter's shape.
template <class Rule>
Schema update() {
    static const typename Rule::Settings defaults;
    Schema schema{.type = Rule::type,
                  .inputs = {{"parameter"},
                             {"gradient"},
                             {.name = "rows", .optional = true},
                             {.name = "learning_rate", .optional = true},
                             {.name = "skip", .optional = true}},
                  .outputs = {{"parameter"}},
                  .attributes = update_attributes<Rule>(defaults),
                  .infer = [](const Checked& op) { return infer_update(op, Rule::state); },
                  .traits = {.in_blocks = true, .refuses_averages = Rule::refuses_averages}};
    schema.attributes["learning_rate"] = 0.01;
    for (const auto slot : Rule::state) {
        schema.inputs.push_back({slot});
        schema.outputs.push_back({slot});
    }
    if (!Rule::counter.empty()) schema.inputs.push_back({"step"});
    return schema;
}

// Gradients are divided by the scale, and the scale is updated, in place.
Types infer_unscale_gradients(const Checked& op) {
    op.expect_type("gradient", DataType::float32);
    op.expect("scale", one(DataType::float32));
    op.expect("good_steps", one(DataType::int64));
    auto types = op.types_of("gradient");
    for (const auto type : {DataType::float32, DataType::int64, DataType::int64}) types.push_back(one(type));
    return types;
}

}  // namespace

std::vector<Schema> training_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back({.type = "loss_gradient",
                       .inputs = {{.name = "loss", .optional = true},  // if it is not float32
                                  {.name = "scale", .optional = true}},
                       .outputs = {{"out"}},
                       .attributes = {{"value", 1.0}},
                       .infer = [](const Checked& op) -> Types {
                           const auto type = op.has("loss") ? op.real("loss") : DataType::float32;
                           if (op.has("scale")) op.expect("scale", one(type));
                           return {one(type)};
                       }});

    schemas.push_back({.type = "increment",
                       .inputs = {{"step"}, {.name = "skip", .optional = true}},
                       .outputs = {{"step"}},
                       .infer = [](const Checked& op) -> Types {
                           expect_skip(op);
                           op.expect("step", {{1}, DataType::int64});
                           return {{{1}, DataType::int64}};
                       }});
    kernels::UpdateRules::for_each(
        [&]<class Rule>(std::type_identity<Rule>) { schemas.push_back(update<Rule>()); });

    schemas.push_back(
        {.type = "unscale_gradients",
         .inputs = {{"gradient", true}, {"scale"}, {"good_steps"}},
         .outputs = {{"gradient", true}, {"scale"}, {"good_steps"}, {"skip"}},
         .attributes = {{"growth", 2.0}, {"backoff", 0.5}, {"growth_steps", std::int64_t{2000}}},
         .infer = infer_unscale_gradients});
    return schemas;
}

}  // namespace dtrain::program
