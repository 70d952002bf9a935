// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/model.hpp"

#include <fmt/format.h>

#include <dtrain/layers.hpp>
#include <dtrain/passes.hpp>

namespace dtrain::native {

Model build_model(const ModelSettings& settings, const ModelSizes& sizes, const Optimizer& optimizer,
                  const Ranks& ranks, const OptimizerOptions& adjust) {
    Model model;
    auto& program = model.train;
    const auto x = layers::data(program, fed_x, {sizes.local_batch, sizes.features});
    const auto label = layers::data(program, fed_label, {sizes.local_batch}, DataType::int64);
    const auto weight = layers::data(program, fed_weight, {sizes.local_batch});

    model.description = std::to_string(sizes.features);
    auto hidden = x;
    for (const auto size : settings.hidden) {
        hidden = layers::fc(program, hidden, size, {settings.activation});
        model.description += fmt::format("-{}", size);
    }
    const auto logits = layers::fc(program, hidden, sizes.classes);
    model.description += fmt::format("-{}", sizes.classes);
    if (!settings.hidden.empty()) model.description += " " + settings.activation;

    const auto entropy = layers::softmax_with_cross_entropy(program, logits, label);
    model.loss_sum = layers::weighted_sum(program, entropy.row_loss, weight);
    model.correct = layers::correct_count(program, logits, label, weight);
    for (const auto& variable : program.variables())
        if (variable.role == Role::parameter) model.parameters += element_count(variable.shape);

    minimize(program, entropy.loss, optimizer, adjust);
    program = ranks.virtual_ones > 0
                  ? with_virtual_ranks(program, ranks.virtual_ones)
                  : data_parallel(program, {.ranks = ranks.real, .one_copy = ranks.one_copy});
    model.test = for_test(program, {model.loss_sum, model.correct});
    return model;
}

}  // namespace dtrain::native
