// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operator_case.hpp"

namespace dtrain::tests {
namespace {

/// Numbers of ids, up to more than a tile that a block sorts.
struct Lookup {
    Shape ids;
    std::int64_t rows;
    std::int64_t width;
};
const std::vector<Lookup> lookups{{{1}, 1, 1},     {{5}, 9, 7},       {{8, 8}, 3, 33}, {{64, 3}, 1000, 1},
                                  {{2047}, 50, 2}, {{2048}, 5000, 1}, {{2049}, 4, 1},  {{100, 99}, 70, 3}};

std::int64_t count_of(const Lookup& lookup) {
    return element_count(lookup.ids);
}

}  // namespace

OperatorCases table_cases(DataType real) {
    OperatorCases cases;
    const auto add = [&](const std::string& type) -> OperatorCase& {
        auto& added = cases.emplace_back(type, real);
        added.tolerance_factor = 0;  // copies, and sums in the CPU's order
        return added;
    };
    for (const auto& lookup : lookups)
        for (const auto integers : {DataType::int64, DataType::int32})
            for (const std::int64_t padding : {-1, 0}) {
                auto out = lookup.ids;
                out.push_back(lookup.width);
                const Shape table{lookup.rows, lookup.width};
                add("embedding")
                    .whole("ids", lookup.ids, 0, lookup.rows - 1, integers)
                    .in("weight", table)
                    .out("out", out)
                    .set("padding", padding);
                add("embedding_grad")
                    .whole("ids", lookup.ids, 0, lookup.rows - 1, integers)
                    .in("weight", table)
                    .in("out@grad", out)
                    .out("weight@grad", table)
                    .set("padding", padding);
                add("embedding_grad_sparse")
                    .whole("ids", lookup.ids, 0, lookup.rows - 1, integers)
                    .in("out@grad", out)
                    .out("rows", DataType::int64, {count_of(lookup)})
                    .out("weight@grad", {count_of(lookup), lookup.width})
                    .set("padding", padding);
            }
    // Padding that is no row of the table.
    add("embedding")
        .exactly("ids", DataType::int64, {5}, {7, 3, 7, 0, 7})
        .in("weight", {4, 3})
        .out("out", {5, 3})
        .set("padding", std::int64_t{7});
    for (const auto& lookup : lookups)
        for (const std::int64_t lists : {1, 2, 3}) {
            auto& merge = add("merge_rows");
            for (std::int64_t list = 0; list < lists; ++list)
                merge.whole("rows", {count_of(lookup)}, -1, lookup.rows - 1)
                    .in("x", {count_of(lookup), lookup.width});
            merge.out("rows", DataType::int64, {lists * count_of(lookup)})
                .out("out", {lists * count_of(lookup), lookup.width});
        }
    // Parts of a tensor along each axis, some more than one kernel copies.
    for (const std::int64_t axis : {0, 1, 2})
        for (const std::int64_t parts : {1, 2, 8, 9}) {
            add("concat").set("axis", axis);
            auto& split = add("split").set("axis", axis);
            Shape whole{3, 5, 7};
            whole[static_cast<std::size_t>(axis)] = 0;
            for (std::int64_t part = 0; part < parts; ++part) {
                Shape shape{3, 5, 7};
                shape[static_cast<std::size_t>(axis)] = part + 1;
                whole[static_cast<std::size_t>(axis)] += part + 1;
                cases[cases.size() - 2].in("x", shape);
                split.out("out", shape);
            }
            cases[cases.size() - 2].out("out", whole);
            split.in("x", whole);
        }
    return cases;
}

}  // namespace dtrain::tests
