// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/options_json.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dtrain::ps {
namespace {

using nlohmann::json;

json to_json(const ConstantRow& row) {
    return {{"kind", "constant"}, {"value", row.value}};
}
json to_json(const UniformRow& row) {
    return {{"kind", "uniform"}, {"bound", row.bound}};
}
json to_json(const NormalRow& row) {
    return {{"kind", "normal"}, {"standard_deviation", row.standard_deviation}};
}

json to_json(const Sgd& sgd) {
    return {{"kind", "sgd"}, {"learning_rate", sgd.learning_rate}};
}
json to_json(const Momentum& momentum) {
    return {{"kind", "momentum"},
            {"learning_rate", momentum.learning_rate},
            {"mu", momentum.mu},
            {"nesterov", momentum.nesterov}};
}
json to_json(const Adagrad& adagrad) {
    return {{"kind", "adagrad"},
            {"learning_rate", adagrad.learning_rate},
            {"epsilon", adagrad.epsilon},
            {"initial", adagrad.initial}};
}
template <class Settings>
json adam_json(const char* kind, const Settings& adam) {
    return {{"kind", kind},
            {"learning_rate", adam.learning_rate},
            {"beta1", adam.beta1},
            {"beta2", adam.beta2},
            {"epsilon", adam.epsilon}};
}
json to_json(const Adam& adam) {
    return adam_json("adam", adam);
}
json to_json(const AdamW& adam) {
    auto out = adam_json("adamw", adam);
    out["weight_decay"] = adam.weight_decay;
    out["without_decay"] = adam.without_decay;
    return out;
}
json to_json(const Ftrl& ftrl) {
    return {{"kind", "ftrl"},
            {"learning_rate", ftrl.learning_rate},
            {"beta", ftrl.beta},
            {"l1", ftrl.l1},
            {"l2", ftrl.l2}};
}

json to_json(NoDecay /*decay*/) {
    return nullptr;
}
json to_json(L1Decay decay) {
    return {{"kind", "l1"}, {"coefficient", decay.coefficient}};
}
json to_json(L2Decay decay) {
    return {{"kind", "l2"}, {"coefficient", decay.coefficient}};
}

json to_json(AdmitAll /*admission*/) {
    return nullptr;
}
json to_json(const AdmitByCount& admission) {
    return {{"kind", "count"}, {"count", admission.count}, {"counters", admission.counters}};
}
json to_json(const AdmitByProbability& admission) {
    return {{"kind", "probability"}, {"probability", admission.probability}};
}

template <class... Kinds>
json to_json(const std::variant<Kinds...>& variant) {
    return std::visit([](const auto& kind) { return to_json(kind); }, variant);
}

json to_json(const RowStatistics& statistics) {
    return {{"show_coefficient", statistics.show_coefficient},
            {"click_coefficient", statistics.click_coefficient},
            {"decay", statistics.decay},
            {"least_score", statistics.least_score},
            {"most_unseen_days", statistics.most_unseen_days}};
}

double number(const json& value, const char* name) {
    return value.at(name).get<double>();
}

std::string kind_of(const json& value) {
    return value.at("kind").get<std::string>();
}

[[noreturn]] void refuse(const std::string& kind) {
    throw json::other_error::create(501, "unknown kind " + kind, nullptr);
}

RowInitializer initializer_from(const json& value) {
    const auto kind = kind_of(value);
    if (kind == "constant") return ConstantRow{number(value, "value")};
    if (kind == "uniform") return UniformRow{number(value, "bound")};
    if (kind == "normal") return NormalRow{number(value, "standard_deviation")};
    refuse(kind);
}

template <class Settings>
Settings adam_from(const json& value) {
    Settings adam;
    adam.learning_rate = number(value, "learning_rate");
    adam.beta1 = number(value, "beta1");
    adam.beta2 = number(value, "beta2");
    adam.epsilon = number(value, "epsilon");
    return adam;
}

Optimizer optimizer_from(const json& value) {
    const auto kind = kind_of(value);
    const auto rate = number(value, "learning_rate");
    if (kind == "sgd") return Sgd{rate};
    if (kind == "momentum") return Momentum{rate, number(value, "mu"), value.at("nesterov").get<bool>()};
    if (kind == "adagrad") return Adagrad{rate, number(value, "epsilon"), number(value, "initial")};
    if (kind == "ftrl") return Ftrl{rate, number(value, "beta"), number(value, "l1"), number(value, "l2")};
    if (kind == "adam") return adam_from<Adam>(value);
    if (kind != "adamw") refuse(kind);
    auto adam = adam_from<AdamW>(value);
    adam.weight_decay = number(value, "weight_decay");
    adam.without_decay = value.at("without_decay").get<std::vector<std::string>>();
    return adam;
}

Regularisation regularisation_from(const json& value) {
    if (value.is_null()) return NoDecay{};
    const auto kind = kind_of(value);
    if (kind == "l1") return L1Decay{number(value, "coefficient")};
    if (kind == "l2") return L2Decay{number(value, "coefficient")};
    refuse(kind);
}

Admission admission_from(const json& value) {
    if (value.is_null()) return AdmitAll{};
    const auto kind = kind_of(value);
    if (kind == "count")
        return AdmitByCount{value.at("count").get<int>(), value.at("counters").get<std::size_t>()};
    if (kind == "probability") return AdmitByProbability{number(value, "probability")};
    refuse(kind);
}

std::optional<RowStatistics> statistics_from(const json& value) {
    if (value.is_null()) return std::nullopt;
    return RowStatistics{number(value, "show_coefficient"), number(value, "click_coefficient"),
                         number(value, "decay"), number(value, "least_score"),
                         value.at("most_unseen_days").get<std::int64_t>()};
}

}  // namespace

json as_json(const TableOptions& options) {
    return {{"name", options.name},
            {"width", options.width},
            {"seed", options.seed},
            {"initializer", to_json(options.initializer)},
            {"optimizer", to_json(options.optimizer)},
            {"regularisation", to_json(options.regularisation)},
            {"dict_size", options.dict_size ? json(*options.dict_size) : json()},
            {"admission", to_json(options.admission)},
            {"statistics", options.statistics ? to_json(*options.statistics) : json()},
            {"reject_not_finite", options.reject_not_finite}};
}

TableOptions options_from(const json& value) {
    TableOptions options;
    options.name = value.at("name").get<std::string>();
    options.width = value.at("width").get<std::size_t>();
    options.seed = value.at("seed").get<std::uint64_t>();
    options.initializer = initializer_from(value.at("initializer"));
    options.optimizer = optimizer_from(value.at("optimizer"));
    options.regularisation = regularisation_from(value.at("regularisation"));
    if (const auto& dict_size = value.at("dict_size"); !dict_size.is_null())
        options.dict_size = dict_size.get<std::uint64_t>();
    options.admission = admission_from(value.at("admission"));
    options.statistics = statistics_from(value.at("statistics"));
    options.reject_not_finite = value.at("reject_not_finite").get<bool>();
    return options;
}

std::string layout_of(const TableOptions& options) {
    return fmt::format("width {}, {}, {} statistics", options.width, kind_of(to_json(options.optimizer)),
                       options.statistics ? "with" : "no");
}

std::vector<std::string> differences(const TableOptions& then, const TableOptions& now) {
    std::vector<std::string> out;
    const auto before = as_json(then);
    const auto after = as_json(now);
    for (const auto& [option, value] : after.items())
        if (value != before.at(option))
            out.push_back(fmt::format("{}: {} then, {} now", option, before.at(option).dump(), value.dump()));
    return out;
}

}  // namespace dtrain::ps
