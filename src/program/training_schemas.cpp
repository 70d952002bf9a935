// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "program/exchanges.hpp"
#include "program/schemas.hpp"

namespace dtrain::program {
namespace {

// If not 0, the operator changes nothing in this step.
void expect_skip(const Checked& op) {
    if (op.has("skip")) op.expect("skip", one(DataType::int64));
}

// Checks an update of a parameter with this state; the gradient may be sparse.
Types infer_update(const Checked& op, const std::vector<std::string_view>& state) {
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
Schema update(std::string_view type, const std::vector<std::string_view>& state, Attributes attributes) {
    attributes.emplace("learning_rate", 0.01);
    Schema schema{.type = type,
                  .inputs = {{"parameter"},
                             {"gradient"},
                             {.name = "rows", .optional = true},
                             {.name = "learning_rate", .optional = true},
                             {.name = "skip", .optional = true}},
                  .outputs = {{"parameter"}},
                  .attributes = std::move(attributes),
                  .infer = [state](const Checked& op) { return infer_update(op, state); }};
    for (const auto slot : state) {
        schema.inputs.push_back({slot});
        schema.outputs.push_back({slot});
    }
    return schema;
}

Schema with_step(Schema schema) {
    schema.inputs.push_back({"step"});
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

// Pairs of rows and gradients; the sums have room for the rows of all batches.
Types infer_gather_rows(const Checked& op) {
    const auto rows = op.types_of("rows");
    const auto gradients = op.types_of("gradient");
    op.expect("rows", {{any}, DataType::int64});
    op.expect("gradient", {{any, any}, DataType::float32});
    if (rows.size() != gradients.size())
        op.refuse("gradient", fmt::format("one for each of the {} lists of rows", rows.size()));
    const auto batches = op.whole("batches");
    if (batches < 1) op.refuse_attribute("batches", "at least 1");
    Types sums;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto count = rows[i].shape[0];
        if (gradients[i].shape[0] != count)
            op.refuse("gradient", fmt::format("a row for each of the {} rows", count));
        sums.push_back({{batches * count}, DataType::int64});
        sums.push_back({{batches * count, gradients[i].shape[1]}, DataType::float32});
    }
    return sums;
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
    const Attributes adam{{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}};
    auto adamw = adam;
    adamw.emplace("weight_decay", 0.01);
    schemas.push_back(update("sgd", {}, {}));
    schemas.push_back(update("momentum", {"velocity"}, {{"mu", 0.9}, {"nesterov", std::int64_t{0}}}));
    schemas.push_back(update("adagrad", {"squares"}, {{"epsilon", 1e-6}}));
    schemas.push_back(with_step(update("adam", {"moment1", "moment2"}, adam)));
    schemas.push_back(with_step(update("adamw", {"moment1", "moment2"}, adamw)));
    schemas.push_back(update("ftrl", {"linear", "squares"}, {{"beta", 0.0}, {"l1", 0.0}, {"l2", 0.0}}));

    schemas.push_back(
        {.type = "unscale_gradients",
         .inputs = {{"gradient", true}, {"scale"}, {"good_steps"}},
         .outputs = {{"gradient", true}, {"scale"}, {"good_steps"}, {"skip"}},
         .attributes = {{"growth", 2.0}, {"backoff", 0.5}, {"growth_steps", std::int64_t{2000}}},
         .infer = infer_unscale_gradients});

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
    schemas.push_back({.type = "reduce_shares",
                       .inputs = {{"gradient", true}},
                       .outputs = {{"gradient", true}},
                       .attributes = {{"ranks", std::int64_t{1}}},
                       .infer = float_gradients});
    schemas.push_back({.type = "tree_sum",
                       .inputs = {{"gradient", true}},
                       .outputs = {{"gradient", true}},
                       .attributes = {{"virtual_ranks", std::int64_t{1}}},
                       .infer = float_gradients});
    const Attributes batches{
        {"ranks", std::int64_t{1}}, {"micro_batches", std::int64_t{1}}, {"batches", std::int64_t{1}}};
    auto row_sum = batches;
    row_sum.emplace("one_copy", std::int64_t{0});
    schemas.push_back({.type = "gather_rows",
                       .inputs = {{"rows", true}, {"gradient", true}},
                       .outputs = {{"rows", true}, {"gradient", true}},
                       .attributes = row_sum,
                       .infer = infer_gather_rows});
    schemas.push_back({.type = average_operator,
                       .inputs = {{"parameter", true}},
                       .outputs = {{"parameter", true}},
                       .attributes = {{"ranks", std::int64_t{1}}, {"every", std::int64_t{1}}},
                       .infer = [](const Checked& op) {
                           op.expect_type("parameter", DataType::float32);
                           if (op.whole("every") < 1) op.refuse_attribute("every", "1 or more");
                           return op.types_of("parameter");
                       }});
    schemas.push_back({.type = "batch_number",
                       .inputs = {},
                       .outputs = {{"out"}},
                       .attributes = batches,
                       .infer = [](const Checked&) -> Types { return {one(DataType::int64)}; }});
    return schemas;
}

}  // namespace dtrain::program
