// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include <dtrain/layers.hpp>

#include "program/simple_layer.hpp"

namespace dtrain::layers {
namespace {

// An axis counted from the front.
std::int64_t from_front(const Program& program, const std::string& x, std::int64_t axis) {
    return axis < 0 ? axis + static_cast<std::int64_t>(program.variable(x).shape.size()) : axis;
}

}  // namespace

std::string reshape(Program& program, const std::string& x, Shape shape) {
    const auto open = std::ranges::find(shape, -1);
    if (open != shape.end()) {
        const auto others =
            std::accumulate(shape.begin(), shape.end(), std::int64_t{-1}, std::multiplies<>());
        *open = others > 0 ? element_count(program.variable(x).shape) / others : -1;
    }
    return simple(program, "reshape", {{"x", x}}, {{"shape", shape}});
}

std::string flatten(Program& program, const std::string& x) {
    return reshape(program, x, {program.variable(x).shape.front(), -1});
}

std::string concat(Program& program, const std::vector<std::string>& parts, std::int64_t axis) {
    std::vector<Argument> inputs;
    for (const auto& part : parts) inputs.push_back({"x", part});
    if (!parts.empty()) axis = from_front(program, parts.front(), axis);
    return simple(program, "concat", std::move(inputs), {{"axis", axis}});
}

std::vector<std::string> split(Program& program, const std::string& x, const std::vector<std::int64_t>& sizes,
                               std::int64_t axis) {
    const auto stem = program.unique_name("split");
    Operator op{"split", {{"x", x}}, {}, {{"axis", from_front(program, x, axis)}, {"sizes", sizes}}};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        names.push_back(fmt::format("{}.{}", stem, i));
        op.outputs.push_back({"out", names.back()});
    }
    program.append_with_outputs(std::move(op));
    return names;
}

std::string embedding(Program& program, const std::string& ids, std::int64_t rows, std::int64_t width,
                      const EmbeddingOptions& options) {
    if (rows < 1 || width < 1)
        throw ProgramError(
            fmt::format("layer embedding: a table of {} x {}, expected at least 1 x 1", rows, width),
            "embedding", ids);
    if (options.is_distributed && !options.is_sparse)
        throw ProgramError(
            "layer embedding: is_distributed goes with is_sparse = true: servers get the rows' gradients "
            "alone",
            "embedding", ids);
    if (options.is_distributed && options.type != DataType::float32)
        throw ProgramError(fmt::format("layer embedding: is_distributed tables are float32, not {}",
                                       to_string(options.type)),
                           "embedding", ids);
    const auto stem = options.name.empty() ? program.unique_name("embedding") : options.name;
    const auto weight = stem + ".weight";
    if (program.has(weight) && program.variable(weight).shape != Shape{rows, width})
        throw ProgramError(
            fmt::format("layer embedding: the table '{}' is {} already, expected {}", weight,
                        to_string(program.variable(weight).shape), to_string(Shape{rows, width})),
            "embedding", weight);
    return extend(program, [&](Program& extended) {
        if (!extended.has(weight))
            extended.add({.name = weight,
                          .shape = {rows, width},
                          .type = options.type,
                          .role = Role::parameter,
                          .initializer = Initializer::xavier_uniform(rows, width)});
        auto out = extended.has(stem + ".out") ? extended.unique_name(stem + ".out") : stem + ".out";
        extended.append_with_outputs({"embedding",
                                      {{"ids", ids}, {"weight", weight}},
                                      {{"out", out}},
                                      {{"is_sparse", std::int64_t{options.is_sparse}},
                                       {"is_distributed", std::int64_t{options.is_distributed}},
                                       {"padding", options.padding}}});
        return out;
    });
}

}  // namespace dtrain::layers
