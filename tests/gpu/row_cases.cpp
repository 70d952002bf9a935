// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "gpu/operator_case.hpp"

namespace dtrain::tests {
namespace {

const std::vector<Shape> row_shapes{{1, 1}, {5, 7}, {64, 10}, {5, 33}, {64, 257}};

/// Scores where the largest are there twice, where one is none, and where the first is none.
std::vector<double> hard_scores(std::int64_t columns) {
    std::vector<double> scores(static_cast<std::size_t>(3 * columns), 1.0);
    const auto none = std::numeric_limits<double>::quiet_NaN();
    const auto at = [&](std::int64_t row, std::int64_t column) -> double& {
        return scores[static_cast<std::size_t>(row * columns + column)];
    };
    at(0, columns / 2) = 3;
    at(0, columns - 1) = 3;
    at(1, columns - 2) = none;
    at(1, columns / 3) = 2;
    at(2, 0) = none;
    return scores;
}

}  // namespace

OperatorCases row_cases(DataType real) {
    OperatorCases cases;
    const auto add = [&](const std::string& type) -> OperatorCase& { return cases.emplace_back(type, real); };
    for (const auto& shape : row_shapes)
        for (const auto integers : {DataType::int64, DataType::int32}) {
            const Shape rows{shape[0]};
            const auto last = shape[1] - 1;
            add("softmax").in("x", shape, -9, 9).out("out", shape);
            add("softmax_grad").in("out", shape, 0, 1).in("out@grad", shape).out("x@grad", shape);
            add("softmax_with_cross_entropy")
                .in("logits", shape, -9, 9)
                .whole("label", rows, 0, last, integers)
                .out("probabilities", shape)
                .out("row_loss", rows);
            add("softmax_with_cross_entropy_grad")
                .in("probabilities", shape, 0, 1)
                .whole("label", rows, 0, last, integers)
                .in("row_loss@grad", rows)
                .out("logits@grad", shape);
            add("cross_entropy")
                .in("probabilities", shape, 0.01, 1)
                .whole("label", rows, 0, last, integers)
                .out("row_loss", rows);
            add("cross_entropy_grad")
                .in("probabilities", shape, 0.01, 1)
                .whole("label", rows, 0, last, integers)
                .in("row_loss@grad", rows)
                .out("probabilities@grad", shape);
            add("accuracy").in("scores", shape).whole("label", rows, 0, last, integers).out("out", {1});
            add("correct_count")
                .in("scores", shape)
                .whole("label", rows, 0, last, integers)
                .in("weight", rows, 0, 1)
                .out("out", {1});
            add("layer_norm")
                .in("x", shape)
                .in("scale", {shape[1]})
                .in("bias", {shape[1]})
                .out("out", shape)
                .out("mean", rows)
                .out("inverse_deviation", rows)
                .set("epsilon", 0.01);
            add("layer_norm_grad")
                .in("x", shape)
                .in("scale", {shape[1]})
                .in("mean", rows, -0.1, 0.1)
                .in("inverse_deviation", rows, 0.5, 2)
                .in("out@grad", shape)
                .out("x@grad", shape)
                .out("scale@grad", {shape[1]})
                .out("bias@grad", {shape[1]});
        }
    for (const std::int64_t columns : {10, 100})
        for (const double label : {0, 3, 33, 5, 50}) {
            if (label >= static_cast<double>(columns)) continue;
            add("correct_count")
                .exactly("scores", real, {3, columns}, hard_scores(columns))
                .exactly("label", DataType::int64, {3}, {label, label, label})
                .exactly("weight", real, {3}, {1, 2, 4})
                .out("out", {1});
        }
    for (const std::int64_t size : {1, 33, 2048, 8192, 8193, 100'000}) {
        add("mean").in("x", {size}).out("out", {1}).tolerance_factor = 10;
        add("reduce_sum").in("x", {size}, -1, 2).out("out", {1}).tolerance_factor = 10;
        add("weighted_sum")
            .in("x", {size}, -1, 2)
            .in("weight", {size}, 0, 1)
            .out("out", {1})
            .tolerance_factor = 10;
        add("weighted_sum_grad").in("weight", {size}).in("out@grad", {1}).out("x@grad", {size});
        add("clip_by_norm").in("x", {size}).out("out", {size}).set("norm", 2.0);
        add("clip_by_norm").in("x", {size}).out("out", {size}).set("norm", 1e6);
        add("global_norm_factor")
            .in("x", {size})
            .in("x", {7, 3})
            .in("x", {1})
            .out("out", {1})
            .set("norm", 2.0);
    }
    return cases;
}

}  // namespace dtrain::tests
