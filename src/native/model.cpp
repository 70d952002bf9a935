// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/model.hpp"

#include <vector>

#include <fmt/format.h>

#include <dtrain/layers.hpp>

namespace dtrain::native {

Var append_hidden_layers(Program& program, const Var& x, const ModelSettings& settings) {
    auto hidden = x;
    for (const auto size : settings.hidden) hidden = layers::fc(program, hidden, size, {settings.activation});
    return hidden;
}

std::string layers_text(std::int64_t inputs, const ModelSettings& settings, std::int64_t outputs) {
    auto text = std::to_string(inputs);
    for (const auto size : settings.hidden) text += fmt::format("-{}", size);
    text += fmt::format("-{}", outputs);
    return settings.hidden.empty() ? text : text + " " + settings.activation;
}

namespace {

Program exchanging(const Program& program, const Ranks& ranks) {
    if (ranks.virtual_ones > 0) return with_virtual_ranks(program, ranks.virtual_ones);
    if (ranks.local_sgd > 0) return with_local_sgd(program, {.ranks = ranks.real, .every = ranks.local_sgd});
    return data_parallel(program, {.ranks = ranks.real, .one_copy = ranks.one_copy});
}

}  // namespace

Program test_program(const Model& model) {
    std::vector<std::string> tested;
    for (const auto& metric : {model.loss_sum, model.correct, model.scores})
        if (!metric.empty()) tested.push_back(metric);
    return for_test(model.train, tested);
}

Model completed(Model model, const std::string& loss, const Optimizer& optimizer, const Ranks& ranks,
                const OptimizerOptions& adjust) {
    auto& program = model.train;
    for (const auto& variable : program.variables())
        if (variable.role == Role::parameter) model.parameters += element_count(variable.shape);
    minimize(program, loss, optimizer, adjust);
    if (ranks.loss_scaling) program = with_loss_scaling(program, *ranks.loss_scaling);
    if (!ranks.by_servers) program = exchanging(program, ranks);
    model.test = test_program(model);
    return model;
}

}  // namespace dtrain::native
