// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "gpu/operator_case.hpp"

namespace dtrain::tests {
namespace {

const std::int64_t no = 0;
const std::int64_t yes = 1;

struct Form {
    Shape parameter;
    bool is_sparse;
    bool is_scheduled;
};
const std::vector<Form> forms{{{1}, false, false},      {{7, 33}, false, true}, {{1024}, false, false},
                              {{5, 257}, false, false}, {{9, 5}, true, false},  {{40, 33}, true, true}};

/// Rows that a sparse gradient is for: each once, and none.
const std::vector<double> listed{4, 0, 8, -1, 3, -1};

OperatorCase& with_gradient(OperatorCase& update, const Form& form) {
    if (!form.is_sparse) return update.in("gradient", form.parameter);
    const auto rows = static_cast<std::int64_t>(listed.size());
    return update.exactly("rows", DataType::int64, {rows}, listed).in("gradient", {rows, form.parameter[1]});
}

OperatorCase& with_rate(OperatorCase& update, const Form& form) {
    update.set("learning_rate", 0.05);
    if (form.is_scheduled) update.exactly("learning_rate", DataType::float32, {1}, {0.0125});
    return update;
}

}  // namespace

OperatorCases update_cases(DataType real) {
    OperatorCases cases;
    for (const auto& form : forms) {
        const auto add = [&](const std::string& type) -> OperatorCase& {
            auto& update = cases.emplace_back(type, real).in("parameter", form.parameter).updated();
            return with_rate(with_gradient(update, form), form);
        };
        add("sgd");
        for (const auto nesterov : {no, yes})
            add("momentum").in("velocity", form.parameter).updated().set("mu", 0.9).set("nesterov", nesterov);
        add("adagrad").in("squares", form.parameter, 0, 2).updated().set("epsilon", 1e-6);
        for (const std::string type : {"adam", "adamw"})
            for (const double step : {1, 2, 5000})
                add(type)
                    .in("moment1", form.parameter)
                    .updated()
                    .in("moment2", form.parameter, 0, 1)
                    .updated()
                    .exactly("step", DataType::int64, {1}, {step})
                    .set("beta1", 0.9)
                    .set("beta2", 0.999)
                    .set("epsilon", 1e-8)
                    .set("weight_decay", 0.1)
                    .tolerance_factor = 4;
        add("ftrl")
            .in("linear", form.parameter)
            .updated()
            .in("squares", form.parameter, 0.1, 2)
            .updated()
            .set("beta", 1.0)
            .set("l1", 0.5)
            .set("l2", 0.1)
            .tolerance_factor = 4;
        for (const auto* type : {"l1_decay", "l2_decay"})
            with_gradient(cases.emplace_back(type, real).in("parameter", form.parameter), form)
                .out("out", form.is_sparse
                                ? Shape{static_cast<std::int64_t>(listed.size()), form.parameter[1]}
                                : form.parameter)
                .set("coefficient", 0.3);
    }
    // No sign.
    cases.emplace_back("l1_decay", real)
        .exactly("parameter", real, {3}, {0, -1, 1})
        .in("gradient", {3})
        .out("out", {3})
        .set("coefficient", 0.3);
    // A warm-up's first step: there is no 1 / rate.
    cases.emplace_back("ftrl", real)
        .in("parameter", {7})
        .updated()
        .in("gradient", {7})
        .exactly("learning_rate", DataType::float32, {1}, {0})
        .in("linear", {7})
        .updated()
        .in("squares", {7}, 0.1, 2)
        .updated()
        .set("learning_rate", 0.05)
        .set("beta", 1.0)
        .set("l1", 0.5)
        .set("l2", 0.1);
    cases.emplace_back("increment", real).whole("step", {1}, 0, 100).updated();
    for (const double skip : {0, 1}) {
        const auto add = [&](const std::string& type) -> OperatorCase& {
            return cases.emplace_back(type, real).exactly("skip", DataType::int64, {1}, {skip});
        };
        add("increment").whole("step", {1}, 0, 100).updated();
        const auto add_update = [&](const std::string& type) -> OperatorCase& {
            return add(type)
                .in("parameter", {7, 33})
                .updated()
                .in("gradient", {7, 33})
                .set("learning_rate", 0.1);
        };
        add_update("sgd");
        add_update("momentum").in("velocity", {7, 33}).updated().set("mu", 0.9).set("nesterov", no);
        add_update("adagrad").in("squares", {7, 33}, 0, 2).updated().set("epsilon", 1e-6);
    }
    return cases;
}

OperatorCases loss_scaling_cases() {
    const double infinity = std::numeric_limits<double>::infinity();
    const double none = std::numeric_limits<double>::quiet_NaN();
    OperatorCases cases;
    for (const double last : {3.0, 3e38, -infinity, infinity, none})
        for (const double good_steps : {0, 9})
            for (const Shape& shape : {Shape{3}, Shape{7, 33}, Shape{20'000}})
                cases.emplace_back("unscale_gradients")
                    .in("gradient", shape)
                    .updated()
                    .exactly("gradient", DataType::float32, {2}, {1.5, last})
                    .updated()
                    .exactly("scale", DataType::float32, {1}, {64})
                    .updated()
                    .exactly("good_steps", DataType::int64, {1}, {good_steps})
                    .updated()
                    .out("skip", DataType::int64, {1})
                    .set("growth", 4.0)
                    .set("backoff", 0.25)
                    .set("growth_steps", std::int64_t{10});
    return cases;
}

OperatorCases schedule_cases() {
    OperatorCases cases;
    for (const double step : {0, 1, 9, 10, 11, 99, 100, 101, 12345}) {
        const auto add = [&](const std::string& type) -> OperatorCase& {
            return cases.emplace_back(type)
                .exactly("step", DataType::int64, {1}, {step})
                .out("out", {1})
                .set("learning_rate", 0.3);
        };
        add("constant_rate");
        for (const auto* type : {"exponential_decay", "natural_exp_decay", "inverse_time_decay"})
            for (const auto staircase : {no, yes})
                add(type).set("decay_steps", 10.0).set("decay_rate", 0.7).set("staircase", staircase);
        for (const auto cycle : {no, yes})
            add("polynomial_decay")
                .set("decay_steps", 10.0)
                .set("end", 0.01)
                .set("power", 2.0)
                .set("cycle", cycle);
        add("piecewise_rate")
            .set("boundaries", std::vector<std::int64_t>{10, 100})
            .set("values", std::vector<double>{0.3, 0.2, 0.1});
        add("piecewise_rate")
            .set("boundaries", std::vector<std::int64_t>{})
            .set("values", std::vector<double>{0.3});
        add("cosine_decay").set("steps_per_epoch", std::int64_t{4}).set("epochs", std::int64_t{30});
        add("noam_decay").set("d_model", std::int64_t{64}).set("warmup_steps", std::int64_t{100});
        add("linear_warmup")
            .exactly("rate", DataType::float32, {1}, {0.7})
            .set("steps", std::int64_t{100})
            .set("start", 0.1)
            .set("end", 0.6);
    }
    return cases;
}

OperatorCases auc_cases(DataType real) {
    OperatorCases cases;
    for (const std::int64_t rows : {1, 64, 1000})
        for (const std::int64_t bins : {1, 7, 256, 4095})
            for (const bool is_weighted : {false, true}) {
                const auto add = [&]() -> OperatorCase& {
                    auto& auc = cases.emplace_back("auc", real).in("scores", {rows, 1}, 0, 1);
                    return is_weighted ? auc.in("weight", {rows}, 0, 2) : auc;
                };
                const auto finish = [&](OperatorCase& auc) {
                    const auto count = static_cast<std::size_t>(bins);
                    auc.exactly("positives", DataType::float64, {bins}, std::vector<double>(count, 1.0))
                        .updated()
                        .exactly("negatives", DataType::float64, {bins}, std::vector<double>(count, 0.0))
                        .updated()
                        .out("out", DataType::float32, {1});
                };
                finish(add().whole("label", {rows}, 0, 1));
                finish(add().whole("label", {rows}, -1, 2, DataType::int32));
                finish(add().in("label", {rows}, 0, 1));
            }
    return cases;
}

}  // namespace dtrain::tests
