// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

Types infer_rate(const Checked& op) {
    op.expect("step", one(DataType::int64));
    return {one(DataType::float32)};
}

Schema schedule(std::string_view type, Attributes attributes) {
    return {.type = type,
            .inputs = {{"step"}},
            .outputs = {{"out"}},
            .attributes = std::move(attributes),
            .infer = infer_rate};
}

}  // namespace

std::vector<Schema> schedule_schemas() {
    const std::int64_t no = 0;
    const Attribute rate = 0.01;
    const Attributes decay{
        {"learning_rate", rate}, {"decay_steps", 1000.0}, {"decay_rate", 0.9}, {"staircase", no}};
    std::vector<Schema> schemas;
    schemas.push_back(schedule("constant_rate", {{"learning_rate", rate}}));
    schemas.push_back(schedule("exponential_decay", decay));
    schemas.push_back(schedule("natural_exp_decay", decay));
    schemas.push_back(schedule("inverse_time_decay", decay));
    schemas.push_back(schedule(
        "polynomial_decay",
        {{"learning_rate", rate}, {"decay_steps", 1000.0}, {"end", 0.0001}, {"power", 1.0}, {"cycle", no}}));
    auto piecewise = schedule(
        "piecewise_rate", {{"boundaries", std::vector<std::int64_t>()}, {"values", std::vector<double>()}});
    piecewise.infer = [](const Checked& op) {
        if (op.numbers("values").size() != op.wholes("boundaries").size() + 1)
            op.refuse_attribute("values", "one value more than boundaries");
        return infer_rate(op);
    };
    schemas.push_back(std::move(piecewise));
    schemas.push_back(schedule(
        "cosine_decay",
        {{"learning_rate", rate}, {"steps_per_epoch", std::int64_t{1}}, {"epochs", std::int64_t{1}}}));
    schemas.push_back(schedule(
        "noam_decay",
        {{"learning_rate", 1.0}, {"d_model", std::int64_t{512}}, {"warmup_steps", std::int64_t{4000}}}));
    auto warmup = schedule("linear_warmup", {{"steps", std::int64_t{1}}, {"start", 0.0}, {"end", rate}});
    warmup.inputs.push_back({"rate"});
    warmup.infer = [](const Checked& op) {
        op.expect("rate", one(DataType::float32));
        return infer_rate(op);
    };
    schemas.push_back(std::move(warmup));
    return schemas;
}

}  // namespace dtrain::program
