// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

const Attributes padding{{"padding", std::int64_t{-1}}};

Shape with_width(Shape shape, std::int64_t width) {
    shape.push_back(width);
    return shape;
}

void check_ids(const Checked& op) {
    if (!is_integer(op.input("ids").type)) op.refuse("ids", "integers (int64 or int32)");
}

Types infer_embedding(const Checked& op) {
    const auto type = op.real("weight");
    check_ids(op);
    op.expect("weight", {{any, any}, type});
    return {{with_width(op.shape("ids"), op.shape("weight")[1]), type}};
}

Types infer_embedding_gradient(const Checked& op) {
    const auto out = infer_embedding(op);
    op.expect("out@grad", out.front());
    return {{op.shape("weight"), out.front().type}};
}

Types infer_sparse_gradient(const Checked& op) {
    const auto type = op.real("out@grad");
    check_ids(op);
    op.expect("out@grad", {with_width(op.shape("ids"), any), type});
    const auto count = element_count(op.shape("ids"));
    return {{{count}, DataType::int64}, {{count, op.shape("out@grad").back()}, type}};
}

void make_embedding_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    const Attributes attributes{{"padding", op.attributes.at("padding")}};
    const auto dout = maker.of_output("out");
    const auto dweight = maker.of_input("weight");
    const bool sparse = std::get<std::int64_t>(op.attributes.at("is_sparse")) != 0;
    if (sparse && maker.variable(op.input("weight")).role == Role::parameter)
        maker.append({"embedding_grad_sparse",
                      {{"ids", op.input("ids")}, {"out@grad", dout}},
                      {{"rows", gradient_rows_name(dweight)}, {"weight@grad", dweight}},
                      attributes});
    else
        maker.append({"embedding_grad",
                      {{"ids", op.input("ids")}, {"weight", op.input("weight")}, {"out@grad", dout}},
                      {{"weight@grad", dweight}},
                      attributes});
}

Types infer_merge_rows(const Checked& op) {
    const auto rows = op.types_of("rows");
    const auto values = op.types_of("x");
    const auto type = op.real("x");
    op.expect("rows", {{any}, DataType::int64});
    op.expect("x", {{any, op.shape("x").back()}, type});
    if (rows.size() != values.size())
        op.refuse("x", fmt::format("one for each of the {} lists of rows", rows.size()));
    std::int64_t count = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].shape[0] != values[i].shape[0])
            op.refuse("x", fmt::format("a row for each of the {} rows", rows[i].shape[0]));
        count += rows[i].shape[0];
    }
    return {{{count}, DataType::int64}, {{count, op.shape("x").back()}, type}};
}

}  // namespace

std::vector<Schema> embedding_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back({.type = "embedding",
                       .inputs = {{"ids"}, {"weight"}},
                       .outputs = {{"out"}},
                       .attributes = {{"is_sparse", std::int64_t{0}},
                                      {"is_distributed", std::int64_t{0}},
                                      {"padding", std::int64_t{-1}}},
                       .infer = infer_embedding,
                       .make_gradient = make_embedding_gradient});
    schemas.push_back({.type = "embedding_grad",
                       .inputs = {{"ids"}, {"weight"}, {"out@grad"}},
                       .outputs = {{"weight@grad"}},
                       .attributes = padding,
                       .infer = infer_embedding_gradient});
    schemas.push_back({.type = "embedding_grad_sparse",
                       .inputs = {{"ids"}, {"out@grad"}},
                       .outputs = {{"rows"}, {"weight@grad"}},
                       .attributes = padding,
                       .infer = infer_sparse_gradient});
    schemas.push_back({.type = "merge_rows",
                       .inputs = {{"rows", true}, {"x", true}},
                       .outputs = {{"rows"}, {"out"}},
                       .infer = infer_merge_rows});
    return schemas;
}

}  // namespace dtrain::program
