// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <fmt/format.h>

#include <dtrain/nn_layer.hpp>

#include "nn/run_function.hpp"

namespace dtrain::nn {
namespace {

// Not -1: otherwise ids of -1 would be looked up as zeros.
constexpr auto no_padding = std::numeric_limits<std::int64_t>::min();

// Negative ids are counted from the end, as in Paddle.
std::int64_t padding_row(const std::optional<std::int64_t>& padding_idx, std::int64_t rows) {
    if (!padding_idx) return no_padding;
    const auto row = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
    if (row < 0 || row >= rows)
        throw ProgramError(
            fmt::format("embedding: padding_idx is {}, which is none of the table's rows 0..{}", *padding_idx,
                        rows - 1),
            "embedding", "");
    return row;
}

}  // namespace

Tensor embedding(const Tensor& ids, const Tensor& weight, std::optional<std::int64_t> padding_idx) {
    const auto padding =
        weight.shape().size() == 2 ? padding_row(padding_idx, weight.shape()[0]) : no_padding;
    return run_one("embedding", {{"ids", ids}, {"weight", weight}}, {{"padding", padding}});
}

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& options)
    : padding_idx_(options.padding_idx) {
    const auto name = options.name.empty() ? unique_name("embedding") : options.name;
    weight_ = add_parameter(name + ".weight", {num_embeddings, embedding_dim},
                            Initializer::xavier_uniform(num_embeddings, embedding_dim), options.type);
    padding_row(padding_idx_, num_embeddings);
}

}  // namespace dtrain::nn
