// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operator_case.hpp"

namespace dtrain::tests {
namespace {

/// Below, at and above a warp, and more than a block of for_each().
const std::vector<Shape> shapes{{1, 1}, {5, 7}, {5, 32}, {64, 33}, {5, 257}, {64, 257}};

}  // namespace

OperatorCases element_cases(DataType real) {
    OperatorCases cases;
    const auto add = [&](const std::string& type) -> OperatorCase& { return cases.emplace_back(type, real); };
    for (const auto& shape : shapes) {
        for (const std::string type : {"relu", "sigmoid", "tanh"}) {
            add(type).in("x", shape, -9, 9).out("out", shape);
            add(type + "_grad").in("out", shape, -0.9, 0.9).in("out@grad", shape).out("x@grad", shape);
        }
        add("sqrt").in("x", shape, 0.1, 9).out("out", shape);
        add("sqrt_grad").in("out", shape, 0.1, 9).in("out@grad", shape).out("x@grad", shape);
        add("square").in("x", shape).out("out", shape);
        add("square_grad").in("x", shape).in("out@grad", shape).out("x@grad", shape);
        for (const auto* type : {"subtract", "multiply"})
            add(type).in("x", shape).in("y", shape).out("out", shape);
        add("divide").in("x", shape).in("y", shape, 0.5, 2).out("out", shape);
        add("divide_grad_y")
            .in("y", shape, 0.5, 2)
            .in("out", shape)
            .in("out@grad", shape)
            .out("y@grad", shape);
        add("scale").in("x", shape).out("out", shape).set("scale", -1.7).set("bias", 0.3);
        add("fill_like").in("x", shape).out("out", shape).set("value", 0.3);
        add("bce_with_logits").in("logits", shape, -30, 30).in("label", shape, 0, 1).out("out", shape);
        add("bce_with_logits_grad")
            .in("logits", shape, -30, 30)
            .in("label", shape, 0, 1)
            .in("out@grad", shape)
            .out("logits@grad", shape);
        for (const std::int64_t is_test : {0, 1})
            add("dropout")
                .in("x", shape)
                .whole("step", {1}, 0, 1'000'000)
                .whole("first_row", {1}, 0, 9)
                .whole("batch", {1}, 0, 9)
                .out("out", shape)
                .set("probability", 0.3)
                .set("seed", std::int64_t{12})
                .set("stream", std::int64_t{3})
                .set("is_test", is_test)
                .tolerance_factor = 0;
        add("clip_by_value").in("x", shape).out("out", shape).set("min", -0.5).set("max", 1.0);
        add("scale_by").in("x", shape).in("factor", {1}).out("out", shape);
        add("mean_grad").in("x", shape).in("out@grad", {1}).out("x@grad", shape);
        add("reduce_sum_grad").in("x", shape).in("out@grad", {1}).out("x@grad", shape);
        add("reshape").in("x", shape).out("out", {shape[0] * shape[1]});
        for (const int terms : {1, 2, 8, 9, 20}) {
            auto& sum = add("sum").out("out", shape);
            for (int term = 0; term < terms; ++term) sum.in("x", shape);
        }
    }
    add("dropout")
        .in("x", {7})
        .out("out", {7})
        .set("probability", 0.5)
        .set("seed", std::int64_t{-1})
        .set("stream", std::int64_t{0})
        .set("is_test", std::int64_t{0});
    add("loss_gradient").out("out", {1}).set("value", 0.25);
    return cases;
}

}  // namespace dtrain::tests
