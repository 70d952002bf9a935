// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operator_case.hpp"

namespace dtrain::tests {
namespace {

/// Batch, inputs, outputs.
struct Layer {
    std::int64_t batch;
    std::int64_t in;
    std::int64_t out;
};
const std::vector<Layer> layers{{1, 1, 1}, {5, 7, 33}, {64, 33, 10}, {5, 257, 7}, {64, 20, 257}};

}  // namespace

OperatorCases layer_cases(DataType real) {
    OperatorCases cases;
    const auto add = [&](const std::string& type, ComputeType products) -> OperatorCase& {
        auto& added = cases.emplace_back(type, real);
        added.products = products;
        added.tolerance_factor = 4;
        return added;
    };
    const auto add_all = [&](const Layer& layer, ComputeType products) {
        const auto [batch, in, out] = layer;
        for (const auto* activation : {"", "relu", "tanh", "sigmoid"})
            add("fc", products)
                .in("x", {batch, in})
                .in("weight", {in, out}, -0.3, 0.3)
                .in("bias", {out})
                .out("out", {batch, out})
                .set("activation", activation);
        add("fc_grad_weight", products)
            .in("x", {batch, in})
            .in("out@grad", {batch, out})
            .rounded(products)  // the bias gets the sum of what is not rounded
            .out("weight@grad", {in, out})
            .out("bias@grad", {out});
        add("fc_grad_input", products)
            .in("weight", {in, out})
            .in("out@grad", {batch, out})
            .out("x@grad", {batch, in});
        for (const std::int64_t transpose_x : {0, 1})
            for (const std::int64_t transpose_y : {0, 1})
                add("matmul", products)
                    .in("x", transpose_x != 0 ? Shape{in, batch} : Shape{batch, in})
                    .in("y", transpose_y != 0 ? Shape{out, in} : Shape{in, out})
                    .out("out", {batch, out})
                    .set("transpose_x", transpose_x)
                    .set("transpose_y", transpose_y);
    };
    for (const auto& layer : layers) {
        add_all(layer, ComputeType::float32);
        if (has_bfloat16_products()) add_all(layer, ComputeType::bfloat16);
        add_all(layer, ComputeType::float16);
    }
    // More rows than a block has of a column.
    add("fc_grad_weight", ComputeType::float32)
        .in("x", {9000, 2})
        .in("out@grad", {9000, 35}, -1, 2)
        .out("weight@grad", {2, 35})
        .out("bias@grad", {35})
        .tolerance_factor = 10;
    return cases;
}

}  // namespace dtrain::tests
