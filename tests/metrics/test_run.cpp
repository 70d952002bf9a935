// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: what was written is read back; texts that are no JSON of a run.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "metrics/small_run.hpp"

namespace dtrain::metrics {
namespace {

TEST(Run, IsReadBackAsItWas) {
    EXPECT_EQ(parse_run(run_json(small_run())), small_run());
    EXPECT_EQ(parse_run(run_json(metrics::Run{})), metrics::Run{});
}

TEST(Run, ValuesThatAreNoNumbersStayNone) {
    metrics::Run run;
    run.rows.push_back({"step", 0, 0, 1, 1, {{"loss", std::numeric_limits<double>::infinity()}}});
    const auto read = parse_run(run_json(run));
    ASSERT_TRUE(read);
    EXPECT_TRUE(std::isnan(read->rows.front().values.front().value));
}

TEST(Run, TextsThatAreNoUtf8AreMended) {
    metrics::Run run;
    run.title = "a\xff";
    EXPECT_EQ(parse_run(run_json(run)).value().title, "a\xef\xbf\xbd");
}

TEST(Run, TheUseOfGpusIsReadBackForItsRank) {
    const RankGpus some{.rank = 3, .utilization = 97.25, .celsius = 91};
    EXPECT_EQ(gpus_of_text(3, gpus_text(some)), some);
    EXPECT_LT(gpus_text({0, 100.0 / 3, 1e3 / 3, 1e12 / 3, 99}).size(), 200U) << "it must fit into an event";
    for (const auto* text : {"", "{}", "[]", "null", "3", "{\"utilization\": \"a\"}"})
        EXPECT_EQ(gpus_of_text(0, text), std::nullopt) << text;
}

TEST(Run, OtherTextsAreNone) {
    for (const auto* text : {"", "{}", "[]", "null", "{\"title\": 3}"})
        EXPECT_EQ(parse_run(text), std::nullopt) << text;
    const auto whole = run_json(small_run());
    EXPECT_EQ(parse_run(whole.substr(0, whole.size() / 2)), std::nullopt);
}

TEST(Run, TooManyRowsOfAKindAreThinnedOutAndTheLastStays) {
    std::vector<MetricRow> rows;
    for (int step = 1; step <= 110; ++step)
        rows.push_back({step % 10 == 0 ? "epoch" : "step", 0, 0, 1, step});
    thin_out(rows, 30);
    const auto steps_of = [&](const char* event) {
        std::vector<std::int64_t> steps;
        for (const auto& row : rows)
            if (row.event == event) steps.push_back(row.step);
        return steps;
    };
    EXPECT_EQ(steps_of("epoch").size(), 11U);
    EXPECT_EQ(steps_of("step").size(), 25U);  // of 99, 50
    EXPECT_EQ(steps_of("step").back(), 109);
    thin_out(rows, 5);
    EXPECT_EQ(steps_of("epoch"), (std::vector<std::int64_t>{30, 70, 110}));  // of 10..110, of 10, 30, 50 ...
}

TEST(Run, PlacesOfRanksAreCountedOnTheirHosts) {
    const auto text = [](const char* host, int rank) { return location_text({.rank = rank, .host = host}); };
    const auto locations = locations_of_texts({text("a", 0), text("b", 1), text("a", 2)});
    EXPECT_EQ(locations[0].local_rank, 0);
    EXPECT_EQ(locations[1].host, "b");
    EXPECT_EQ(locations[1].local_rank, 0);
    EXPECT_EQ(locations[2].local_rank, 1);
    EXPECT_EQ(own_location(5).rank, 5);
    EXPECT_FALSE(own_location(5).cpus.empty());
}

TEST(MetricRow, IsALineOfJson) {
    const MetricRow row{"epoch", 1700000000.5, 2.25, 3, 40, {{"train_loss", 0.125}, {"test_auc", NAN}}};
    EXPECT_EQ(json_line(row),
              "{\"time\":1700000000.5,\"seconds\":2.25,\"event\":\"epoch\",\"epoch\":3,\"step\":40,"
              "\"train_loss\":0.125,\"test_auc\":null}\n");
    EXPECT_EQ(row.value("train_loss"), 0.125);
    EXPECT_EQ(row.value("loss"), std::nullopt);
}

}  // namespace
}  // namespace dtrain::metrics
