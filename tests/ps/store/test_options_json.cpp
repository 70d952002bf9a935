// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the options that were written; one JSON text as a person writes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ps/store/options_json.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

// No number here has a short form in binary.
const std::vector<TableOptions> samples{
    {.name = "a", .width = 1},
    {.name = "b",
     .width = 7,
     .seed = ~std::uint64_t{0},
     .initializer = ConstantRow{0.1},
     .optimizer = Sgd{0.3}},
    {.name = "c", .width = 7, .initializer = UniformRow{1 / 3.0}, .optimizer = Momentum{0.7, 0.1, false}},
    {.name = "c", .width = 7, .optimizer = Momentum{0.7, 0.1, true}, .regularisation = L1Decay{1e-7}},
    {.name = "d", .width = 9, .initializer = NormalRow{1e-300}, .optimizer = Adagrad{0.1, 1e-9, 0.1}},
    {.name = "e", .width = 9, .optimizer = Adam{0.1, 0.91, 0.9991, 1e-7}, .regularisation = L2Decay{0.1}},
    {.name = "e", .width = 9, .optimizer = AdamW{0.1, 0.91, 0.9991, 1e-7, 0.2, {"e", "f"}}},
    {.name = "f", .width = 9, .optimizer = Ftrl{0.1, 1.1, 0.2, 0.3}, .dict_size = 0},
    {.name = "g", .width = 9, .admission = AdmitByCount{3, 6400}, .reject_not_finite = true},
    {.name = "h",
     .width = 9,
     .dict_size = 1000000007,
     .admission = AdmitByProbability{0.3},
     .statistics = RowStatistics{0.1, 1.1, 0.98, 0.8, 31}},
};

TEST(OptionsAsJson, ComeBackExactly) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto& options = samples[i];
        const auto back = options_from(json::parse(as_json(options).dump()));
        EXPECT_EQ(as_json(back), as_json(options));
        EXPECT_THAT(differences(options, back), IsEmpty());
        EXPECT_EQ(back.optimizer.index(), options.optimizer.index());
        EXPECT_EQ(back.initializer, options.initializer);
        EXPECT_EQ(back.admission, options.admission);
        EXPECT_EQ(back.regularisation.index(), options.regularisation.index());
        EXPECT_EQ(back.statistics, options.statistics);
        EXPECT_EQ(back.dict_size, options.dict_size);
        for (std::size_t j = 0; j < samples.size(); ++j)
            EXPECT_EQ(differences(samples[j], options).empty(), i == j);
    }
}

TEST(OptionsAsJson, AreWhatAPersonReads) {
    EXPECT_EQ(as_json({.name = "clicks",
                       .width = 16,
                       .seed = 3,
                       .initializer = UniformRow{0.05},
                       .optimizer = Adagrad{.learning_rate = 0.1},
                       .admission = AdmitByCount{2, 4096}}),
              json::parse(R"({"name": "clicks", "width": 16, "seed": 3,
                  "initializer": {"kind": "uniform", "bound": 0.05},
                  "optimizer": {"kind": "adagrad", "learning_rate": 0.1, "epsilon": 1e-6, "initial": 0.0},
                  "regularisation": null, "dict_size": null,
                  "admission": {"kind": "count", "count": 2, "counters": 4096},
                  "statistics": null, "reject_not_finite": false})"));
}

TEST(OptionsAsJson, WhatIsNoneIsRefused) {
    const auto good = as_json(samples.back());
    for (const auto& [name, value] : good.items()) {
        auto damaged = good;
        damaged.erase(name);
        EXPECT_THROW(options_from(damaged), json::exception) << name;
        damaged[name] = {{"kind", "magic"}};
        EXPECT_THROW(options_from(damaged), json::exception) << name;
    }
}

TEST(OptionsAsJson, LayoutsNameWhatRowsAreMadeOf) {
    EXPECT_EQ(layout_of(samples[0]), "width 1, sgd, no statistics");
    EXPECT_EQ(layout_of(samples[6]), "width 9, adamw, no statistics");
    EXPECT_EQ(layout_of(samples[9]), "width 9, sgd, with statistics");
}

}  // namespace
}  // namespace dtrain::ps
