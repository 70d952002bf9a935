// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/server_link.hpp"
#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

/// Blocks of whole rows, in order: number of rows and server of each.
void expect_blocks(const Checked& op, const Shape& shape) {
    const auto& rows = op.wholes("rows");
    std::int64_t all = 0;
    for (const auto count : rows) all += count;
    if (all != shape.front()) op.refuse_attribute("rows", "all rows of the variable");
    if (op.wholes("servers").size() != rows.size()) op.refuse_attribute("servers", "one for each block");
}

Types infer_pull_rows(const Checked& op) {
    op.expect_integers("ids", op.shape("ids"));
    if (op.whole("width") < 1) op.refuse_attribute("width", "1 or more");
    auto shape = op.shape("ids");
    shape.push_back(op.whole("width"));
    return {{std::move(shape), DataType::float32}};
}

Types infer_push_rows(const Checked& op) {
    op.expect_integers("ids", op.shape("ids"));
    auto shape = op.shape("ids");
    shape.push_back(any);
    op.expect("gradient", {shape, DataType::float32});
    if (!op.has("click")) return {};
    op.expect_type("click", DataType::float32);
    const auto clicks = element_count(op.shape("click"));
    if (clicks == 0 || element_count(op.shape("ids")) % clicks != 0)
        op.refuse("click", "a number for equally many ids each");
    return {};
}

}  // namespace

bool needs_servers(std::string_view operator_type) {
    return traits_of(operator_type).needs_servers;
}

std::vector<Schema> server_schemas() {
    const Attributes blocks{{"servers", std::vector<std::int64_t>{}},
                            {"rows", std::vector<std::int64_t>{}},
                            {"sync_mode", std::int64_t{1}}};
    const auto nothing = [](const Checked&) -> Types { return {}; };
    std::vector<Schema> schemas;
    schemas.push_back({.type = "send",
                       .inputs = {{"gradient"}},
                       .outputs = {},
                       .attributes = blocks,
                       .infer = [](const Checked& op) -> Types {
                           expect_blocks(op, op.shape("gradient"));
                           return {};
                       }});
    schemas.push_back({.type = "recv",
                       .inputs = {{"parameter"}},
                       .outputs = {{"parameter"}},
                       .attributes = blocks,
                       .infer = [](const Checked& op) -> Types {
                           expect_blocks(op, op.shape("parameter"));
                           return op.types_of("parameter");
                       }});
    schemas.push_back({.type = "send_barrier", .inputs = {}, .outputs = {}, .infer = nothing});
    schemas.push_back({.type = "fetch_barrier", .inputs = {}, .outputs = {}, .infer = nothing});
    // Ids below 0 or from `rows` on are refused; rows = -1: any id has a row. fed: the ids are data of the
    // batch, so that rows can be requested in advance.
    schemas.push_back({.type = "pull_rows",
                       .inputs = {{"ids"}},
                       .outputs = {{"out"}},
                       .attributes = {{"table", std::string()},
                                      {"width", std::int64_t{1}},
                                      {"rows", std::int64_t{-1}},
                                      {"padding", std::int64_t{-1}},
                                      {"fed", std::int64_t{0}},
                                      {"is_test", std::int64_t{0}}},
                       .infer = infer_pull_rows});
    schemas.push_back(
        {.type = "push_rows",
         .inputs = {{"ids"}, {"gradient"}, {.name = "click", .optional = true}},
         .outputs = {},
         .attributes = {{"table", std::string()}, {"padding", std::int64_t{-1}}, {"last", std::int64_t{1}}},
         .infer = infer_push_rows});
    // Uses the gradients of this step's push_rows.
    schemas.push_back({.type = "update_rows",
                       .inputs = {{.name = "learning_rate", .optional = true}},
                       .outputs = {},
                       .attributes = {{"table", std::string()}},
                       .infer = [](const Checked& op) -> Types {
                           if (op.has("learning_rate")) op.expect("learning_rate", one(DataType::float32));
                           return {};
                       }});
    schemas.push_back({.type = "exchange_changes",
                       .inputs = {{.name = "parameter", .many = true, .optional = true}},
                       .outputs = {{.name = "parameter", .many = true, .optional = true}},
                       .attributes = {{"every", std::int64_t{1}}},
                       .infer = [](const Checked& op) -> Types {
                           if (op.whole("every") < 1) op.refuse_attribute("every", "1 or more");
                           return op.types_of("parameter");
                       }});
    for (auto& schema : schemas) schema.traits.needs_servers = true;
    return schemas;
}

}  // namespace dtrain::program
