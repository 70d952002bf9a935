// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "program/ir/exchanges.hpp"
#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

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

std::vector<Schema> communication_schemas() {
    std::vector<Schema> schemas;
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
    for (auto& schema : schemas) schema.traits.exchanges_gradients = true;

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
    for (auto& schema : schemas) schema.traits.communication = true;
    return schemas;
}

}  // namespace dtrain::program
