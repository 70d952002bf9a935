// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/click_model.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include <dtrain/layers.hpp>

namespace dtrain::native {
namespace {

/// Embedding lookup: the rows for the ids of each sample, [local_batch, slots, embedding].
Var look_up(Program& program, const Var& ids, const ModelSettings& settings, const ClickSizes& sizes) {
    return layers::embedding(program, ids, sizes.rows, settings.embedding,
                             {.is_sparse = true,
                              .padding_idx = sizes.is_distributed ? std::nullopt : std::optional(sizes.rows),
                              .is_distributed = sizes.is_distributed,
                              .name = embedding_name});
}

}  // namespace

Model build_click_model(const ModelSettings& settings, const ClickSizes& sizes, const Optimizer& optimizer,
                        const Ranks& ranks, const OptimizerOptions& adjust) {
    Model model;
    auto& program = model.train;
    const auto batch = sizes.local_batch;
    const auto ids = layers::data(program, fed_ids, {batch, sizes.slots}, DataType::int64);
    auto x = layers::flatten(program, look_up(program, ids, settings, sizes));
    if (sizes.integers > 0) {
        const auto dense = layers::data(program, fed_dense, {batch, sizes.integers});
        x = layers::concat(program, {x, dense}, 1);
    }
    model.labels = layers::data(program, fed_click, {batch});
    const auto weight = layers::data(program, fed_weight, {batch});

    const auto logit = layers::fc(program, append_hidden_layers(program, x, settings), 1);
    model.scores = layers::reshape(program, logit, {batch});
    const auto row_loss = layers::bce_with_logits(program, model.scores, model.labels);
    const auto loss = layers::mean(program, row_loss);
    model.loss_sum = layers::weighted_sum(program, row_loss, weight);
    // The number of distinct ids of a distributed table is left out: it may differ when a job is resumed.
    model.description = fmt::format(
        "{} ids x {}, {}", sizes.is_distributed ? "any" : std::to_string(sizes.rows), settings.embedding,
        layers_text(sizes.slots * settings.embedding + sizes.integers, settings, 1));
    return completed(std::move(model), loss, optimizer, ranks, adjust);
}

}  // namespace dtrain::native
