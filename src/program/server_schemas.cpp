// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/schemas.hpp"

namespace dtrain::program {
namespace {

/// Blocks of whole rows, in their order: rows and server of each.
void expect_blocks(const Checked& op, const Shape& shape) {
    const auto& rows = op.wholes("rows");
    std::int64_t all = 0;
    for (const auto count : rows) all += count;
    if (all != shape.front()) op.refuse_attribute("rows", "all rows of the variable");
    if (op.wholes("servers").size() != rows.size()) op.refuse_attribute("servers", "one for each block");
}

}  // namespace

std::vector<Schema> server_schemas() {
    const Attributes blocks{{"servers", std::vector<std::int64_t>{}},
                            {"rows", std::vector<std::int64_t>{}},
                            {"sync_mode", std::int64_t{1}}};
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
    return schemas;
}

}  // namespace dtrain::program
