// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/store/options_json.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/functors/optimizer_info.hpp"

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

json to_json(const Optimizer& optimizer) {
    json out;
    kernels::with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& settings) {
        out = {{"kind", Rule::type}, {"learning_rate", settings.learning_rate}};
        kernels::for_each_setting<Rule>([&](const auto& setting) {
            out[std::string(setting.name)] =
                setting.truth != nullptr ? json(settings.*setting.truth) : json(settings.*setting.number);
        });
        if constexpr (requires { Rule::exceptions; })
            out[std::string(Rule::exceptions_name)] = settings.*Rule::exceptions;
    });
    return out;
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

Optimizer optimizer_from(const json& value) {
    std::optional<Optimizer> optimizer;
    kernels::UpdateRules::for_each([&]<class Rule>(std::type_identity<Rule>) {
        if (Rule::type != kind_of(value)) return;
        typename Rule::Settings settings;
        settings.learning_rate = number(value, "learning_rate");
        kernels::for_each_setting<Rule>([&](const auto& setting) {
            if (setting.truth != nullptr)
                value.at(std::string(setting.name)).get_to(settings.*setting.truth);
            else
                value.at(std::string(setting.name)).get_to(settings.*setting.number);
        });
        if constexpr (requires { Rule::exceptions; })
            value.at(std::string(Rule::exceptions_name)).get_to(settings.*Rule::exceptions);
        optimizer = std::move(settings);
    });
    if (!optimizer) refuse(kind_of(value));
    return *optimizer;
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
    return fmt::format("width {}, {}, {} statistics", options.width, kernels::name_of(options.optimizer),
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
