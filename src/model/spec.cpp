// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/spec.hpp"

#include <array>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <dtrain/layers.hpp>

#include "base/text.hpp"
#include "kernels/functors/optimizer_info.hpp"

namespace dtrain::model {
namespace {

Shape batch_shape(std::int64_t batch, const Shape& sample) {
    Shape shape{batch};
    shape.insert(shape.end(), sample.begin(), sample.end());
    return shape;
}

void add_data(Program& program, const SampleSpec& spec, std::int64_t batch) {
    if (spec.type != DataType::float32 && spec.type != DataType::int64)
        throw ProgramError(fmt::format("'{}' is {}; inputs and labels are float32 or int64", spec.name,
                                       to_string(spec.type)),
                           "", spec.name);
    layers::data(program, spec.name, batch_shape(batch, spec.shape), spec.type);
}

const std::string& only_label(const ModelSpec& spec, const std::string& what) {
    if (spec.labels.size() != 1)
        throw ProgramError(fmt::format("{} needs one label, but the model has {}", what, spec.labels.size()),
                           "", "");
    return spec.labels.front().name;
}

/// Adds loss and loss_sum from losses [batch, ...]; a row's loss is the mean over its elements.
void add_mean(LossProgram& made, const std::string& losses) {
    auto& program = made.program;
    made.loss = layers::mean(program, losses);
    const auto shape = program.variable(losses).shape;
    const auto width = element_count(shape) / shape[0];
    const auto rows = layers::reshape(program, losses, width == 1 ? Shape{-1} : Shape{shape[0], -1});
    if (width == 1) {
        made.loss_sum = layers::weighted_sum(program, rows, fed_weight);
        return;
    }
    const auto weight = layers::reshape(program, fed_weight, {1, shape[0]});
    const auto sums = layers::reduce_sum(program, layers::matmul(program, weight, rows));
    made.loss_sum = layers::scale(program, sums, 1.0 / static_cast<double>(width));
}

void add(LossProgram& made, const ModelSpec& spec, const std::string& output, const CrossEntropyLoss&) {
    const auto& label = only_label(spec, "CrossEntropyLoss");
    const auto entropy = layers::softmax_with_cross_entropy(made.program, output, label);
    made.loss = entropy.loss;
    made.loss_sum = layers::weighted_sum(made.program, entropy.row_loss, fed_weight);
}

void add(LossProgram& made, const ModelSpec& spec, const std::string& output, const MSELoss&) {
    const auto& label = only_label(spec, "MSELoss");
    add_mean(made, layers::square_error(made.program, output, label));
}

void add(LossProgram& made, const ModelSpec& spec, const std::string& output, const BCEWithLogitsLoss&) {
    const auto& label = only_label(spec, "BCEWithLogitsLoss");
    add_mean(made, layers::bce_with_logits(made.program, output, label));
}

void add(LossProgram& made, const ModelSpec& spec, const std::string& output, const Accuracy&) {
    made.correct = layers::correct_count(made.program, output, only_label(spec, "Accuracy"), fed_weight);
}

void add(LossProgram& made, const ModelSpec& spec, const std::string& output, const AreaUnderCurve&) {
    const auto& label = made.program.variable(only_label(spec, "AreaUnderCurve"));
    const auto& scores = made.program.variable(output);
    for (const auto* each : {&scores, &label})
        if (each->type != DataType::float32 || element_count(each->shape) != each->shape[0])
            throw ProgramError(
                fmt::format(
                    "AreaUnderCurve needs one float32 of '{}' for each sample, but a batch of it is {} {}",
                    each->name, to_string(each->type), to_string(each->shape)),
                "", each->name);
    made.scores = output;
    made.scored_label = label.name;
}

std::string text_of(const std::vector<SampleSpec>& specs) {
    std::vector<std::string> texts;
    for (const auto& spec : specs)
        texts.push_back(fmt::format("{} {} {}", spec.name, to_string(spec.type), to_string(spec.shape)));
    return texts.empty() ? "none" : join(texts, ", ");
}

std::string text_of(const Operator& op) {
    std::vector<std::string> texts;
    for (const auto& input : op.inputs) texts.push_back(fmt::format("{}={}", input.slot, input.variable));
    for (const auto& [name, value] : op.attributes)
        texts.push_back(fmt::format("{}={}", name, to_string(value)));
    return fmt::format("{}({})", op.type, join(texts, ", "));
}

}  // namespace

NetworkProgram network_program(const ModelSpec& spec, std::int64_t batch) {
    NetworkProgram made;
    std::vector<std::string> names;
    for (const auto& input : spec.inputs) {
        add_data(made.program, input, batch);
        names.push_back(input.name);
    }
    made.output = spec.network(made.program, names);
    const auto& output = made.program.variable(made.output);
    if (output.type != DataType::float32 || output.shape.empty() || output.shape[0] != batch)
        throw ProgramError(
            fmt::format("the network's output '{}' is {} {} for a batch of {}; it must be float32 [{}, ...]",
                        made.output, to_string(output.type), to_string(output.shape), batch, batch),
            "", made.output);
    return made;
}

Program checked_network(const ModelSpec& spec) {
    auto one = network_program(spec, 1).program;
    const auto two = network_program(spec, 2).program;
    for (const auto& variable : one.variables())
        if (is_persistable(variable.role) && two.variable(variable.name) != variable)
            throw ProgramError(
                fmt::format(
                    "the network's '{}' is {} for a batch of 1 and {} for a batch of 2; parameters must not "
                    "depend on the batch",
                    variable.name, to_string(variable.shape), to_string(two.variable(variable.name).shape)),
                "", variable.name);
    return one;
}

LossProgram loss_program(const ModelSpec& spec, const Loss& loss, const std::vector<Metric>& metrics,
                         std::int64_t batch) {
    auto network = network_program(spec, batch);
    LossProgram made{.program = std::move(network.program)};
    for (const auto& label : spec.labels) add_data(made.program, label, batch);
    layers::data(made.program, fed_weight, {batch});
    std::visit([&](const auto& each) { add(made, spec, network.output, each); }, loss);
    for (const auto& metric : metrics)
        std::visit([&](const auto& each) { add(made, spec, network.output, each); }, metric);
    return made;
}

std::string name_of(const Metric& metric) {
    return std::holds_alternative<Accuracy>(metric) ? "accuracy" : "auc";
}

std::map<std::string, std::string> job_fields(const ModelSpec& spec, const Program& network, const Loss& loss,
                                              const Optimizer& optimizer) {
    static constexpr std::array losses{"cross_entropy", "mean_square_error", "bce_with_logits"};
    static_assert(losses.size() == std::variant_size_v<Loss>);
    std::map<std::string, std::string> fields{{"inputs", text_of(spec.inputs)},
                                              {"labels", text_of(spec.labels)},
                                              {"loss", losses[loss.index()]},
                                              {"optimizer", kernels::name_of(optimizer)}};
    for (std::size_t i = 0; i < network.operators().size(); ++i)
        fields[fmt::format("operator {:03}", i + 1)] = text_of(network.operators()[i]);
    return fields;
}

}  // namespace dtrain::model
