// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include <dtrain/layers.hpp>

#include "program/layers/simple_layer.hpp"

namespace dtrain::layers {
namespace {

// An axis counted from the front.
std::int64_t from_front(const Program& program, const Var& x, std::int64_t axis) {
    return axis < 0 ? axis + static_cast<std::int64_t>(program.variable(x).shape.size()) : axis;
}

constexpr std::int64_t no_padding = -1;  // in the operator

// The option of earlier releases.
std::int64_t deprecated_padding(const EmbeddingOptions& options) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return options.padding;
#pragma GCC diagnostic pop
}

std::int64_t padding_id(const Var& ids, std::int64_t rows, const EmbeddingOptions& options) {
    if (!options.padding_idx) return deprecated_padding(options);
    const auto id = *options.padding_idx;
    if (options.is_distributed ? id == no_padding : id < -rows)
        throw ProgramError(fmt::format("layer embedding: padding_idx {} of a table of {} rows{}", id, rows,
                                       options.is_distributed ? "; -1 is no id of an is_distributed table"
                                                              : ", expected a row"),
                           "embedding", ids);
    return id < 0 && !options.is_distributed ? id + rows : id;
}

}  // namespace

Var reshape(Program& program, const Var& x, Shape shape) {
    const auto open = std::ranges::find(shape, -1);
    if (open != shape.end()) {
        const auto others =
            std::accumulate(shape.begin(), shape.end(), std::int64_t{-1}, std::multiplies<>());
        *open = others > 0 ? element_count(program.variable(x).shape) / others : -1;
    }
    return simple(program, "reshape", {{"x", x}}, {{"shape", shape}});
}

Var flatten(Program& program, const Var& x) {
    return reshape(program, x, {program.variable(x).shape.front(), -1});
}

Var concat(Program& program, const Vars& parts, std::int64_t axis) {
    std::vector<Argument> inputs;
    for (const auto& part : parts) inputs.push_back({"x", part});
    if (!parts.empty()) axis = from_front(program, parts.front(), axis);
    return simple(program, "concat", std::move(inputs), {{"axis", axis}});
}

Vars split(Program& program, const Var& x, const std::vector<std::int64_t>& sizes, std::int64_t axis) {
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

Var embedding(Program& program, const Var& ids, std::int64_t rows, std::int64_t width,
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
    const auto padding = padding_id(ids, rows, options);
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
                                       {"padding", padding}}});
        return out;
    });
}

}  // namespace dtrain::layers
