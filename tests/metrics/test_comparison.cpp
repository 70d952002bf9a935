// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: what must and must not stand in a page, written by hand.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "metrics/comparison.hpp"
#include "metrics/small_run.hpp"

namespace dtrain::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

MetricRow epoch_row(std::int64_t epoch, std::vector<Measured> values) {
    return {"epoch", 1700000000, static_cast<double>(epoch), epoch, 10 * epoch, std::move(values)};
}

/// The second has no accuracy, other settings, and failed.
std::vector<NamedRun> two_runs() {
    return {{"adam",
             {.title = "digits",
              .outcome = "done",
              .began = 1700000000,
              .seconds = 12.5,
              .info = {{"job", "7"}, {"optimizer", "adam"}, {"seed", "3"}},
              .rows = {{"step", 1700000000, 0.5, 1, 5, {{"loss", 4}}},
                       epoch_row(1, {{"train_loss", 2}, {"test_accuracy", 0.5}}),
                       epoch_row(2, {{"train_loss", 1}, {"test_accuracy", 0.75}})},
              .locations = {{.rank = 0, .host = "node1"}, {.rank = 1, .host = "node2"}}}},
            {"sgd <1>",
             {.title = "digits",
              .outcome = "failed",
              .began = 1700000100,
              .seconds = 100,
              .info = {{"job", "8"}, {"seed", "3"}, {"optimizer", "sgd"}, {"momentum", "0.9"}},
              .rows = {epoch_row(1, {{"train_loss", 3}})},
              .failure = Failure{"rank 1 & its node", {}, "the whole report"}}}};
}

TEST(Comparison, ACurveOfOneNameIsOneChartWithALineForEachRunThatHasIt) {
    const auto charts = compared_charts(two_runs());
    ASSERT_EQ(charts.size(), 3U);
    EXPECT_EQ(charts[0].title + "/" + charts[0].part, "Loss/training, within an epoch");
    EXPECT_EQ(charts[1].title + "/" + charts[1].part, "Loss/training, whole epoch");
    EXPECT_EQ(charts[2].title + "/" + charts[2].part, "Accuracy/test");
    ASSERT_EQ(charts[1].lines.size(), 2U);
    EXPECT_EQ(charts[1].lines[0].name, "adam");
    EXPECT_EQ(charts[1].lines[1].name, "sgd <1>");
    EXPECT_EQ(charts[1].lines[1].run, 1U);
    EXPECT_THAT(charts[1].lines[1].sources, ElementsAre("1 epoch train_loss"));
    ASSERT_EQ(charts[1].lines[1].points.size(), 1U);
    EXPECT_EQ(charts[1].lines[1].points[0].x, 10);
    EXPECT_EQ(charts[1].lines[1].points[0].y, 3);
    ASSERT_EQ(charts[2].lines.size(), 1U);
    EXPECT_EQ(charts[2].lines[0].run, 0U);
}

TEST(Comparison, ARunHasOneColourInAllCharts) {
    auto runs = two_runs();
    runs[0].run.rows.clear();
    const auto page = comparison_html(runs);
    EXPECT_THAT(page, HasSubstr("<button type=\"button\" disabled data-run=\"1\" "
                                "data-sources=\"[&quot;1 epoch train_loss&quot;]\"><svg class=\"key\" "
                                "viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path class=\"line c1\""));
    const std::vector<NamedRun> ten(10, runs[1]);
    EXPECT_THAT(comparison_html(ten), HasSubstr("data-run=\"9\"><svg class=\"key\" viewBox=\"0 0 22 8\" "
                                                "aria-hidden=\"true\"><path class=\"line c1\""));
}

TEST(Comparison, TellsHowEachRunEnded) {
    const auto page = comparison_html(two_runs());
    for (const auto* row :
         {"<tr><td>outcome</td><td>done</td><td>failed</td></tr>",
          "<tr><td>failure</td><td>-</td><td>rank 1 &amp; its node</td></tr>",
          "<tr><td>time</td><td>12.5 s</td><td>1 min 40 s</td></tr>",
          "<tr><td>ranks</td><td>2 on 2 nodes</td><td>-</td></tr>",
          "<tr><td>epochs</td><td>2</td><td>1</td></tr>", "<tr><td>steps</td><td>20</td><td>10</td></tr>",
          "<tr><td>Loss, training, whole epoch</td><td>1</td><td>3</td></tr>",
          "<tr><td>Accuracy, test</td><td>0.75</td><td>-</td></tr>"})
        EXPECT_THAT(page, HasSubstr(row));
    EXPECT_THAT(page, Not(HasSubstr("<td>Loss, training, within an epoch</td>")));
    EXPECT_THAT(page, Not(HasSubstr("the whole report")));
}

TEST(Comparison, AValueWithinAnEpochStandsForOneThatNoEpochHas) {
    auto runs = two_runs();
    for (auto& [name, run] : runs) run.rows = {{"step", 0, 0, 1, 5, {{"loss", 4}}}};
    EXPECT_THAT(comparison_html(runs),
                HasSubstr("<tr><td>Loss, training, within an epoch</td><td>4</td><td>4</td></tr>"));
}

TEST(Comparison, TheLastNumberCounts) {
    auto runs = two_runs();
    runs[1].run.rows.push_back(epoch_row(2, {{"train_loss", std::numeric_limits<double>::quiet_NaN()}}));
    EXPECT_THAT(comparison_html(runs),
                HasSubstr("<tr><td>Loss, training, whole epoch</td><td>1</td><td>3</td></tr>"));
}

TEST(Comparison, AThroughputIsThatOfAllEpochs) {
    auto runs = two_runs();
    // 300 samples each: 1 s and 3 s, together 600 in 4 s.
    runs[0].run.rows = {epoch_row(1, {{"samples_per_second", 300}}),
                        epoch_row(2, {{"samples_per_second", 100}})};
    runs[1].run.rows = {epoch_row(1, {{"samples_per_second", 0}})};
    EXPECT_THAT(comparison_html(runs),
                HasSubstr("<tr><td>Throughput, whole epoch, mean</td><td>150</td><td>-</td></tr>"));
}

TEST(Comparison, SettingsAreSortedIntoThoseThatDifferAndTheOthers) {
    EXPECT_THAT(compared_settings(two_runs()),
                ElementsAre(ComparedSetting{"title", {"digits", "digits"}, false},
                            ComparedSetting{"optimizer", {"adam", "sgd"}, true},
                            ComparedSetting{"seed", {"3", "3"}, false},
                            ComparedSetting{"momentum", {"", "0.9"}, true}));
    const auto page = comparison_html(two_runs());
    const auto same = page.find("those that are the same");
    EXPECT_LT(page.find("<tr><td>optimizer</td><td>adam</td><td>sgd</td></tr>"), same);
    EXPECT_LT(page.find("<tr><td>momentum</td><td>-</td><td>0.9</td></tr>"), same);
    EXPECT_GT(page.find("<tr><td>seed</td><td>3</td><td>3</td></tr>"), same);
}

TEST(Comparison, SaysSoWhenNoSettingDiffers) {
    auto runs = two_runs();
    runs[1].run.info = runs[0].run.info;
    EXPECT_THAT(comparison_html(runs), HasSubstr("None of those that the runs tell."));
}

TEST(Comparison, EscapesEveryTextAndAsksNobodyForAnything) {
    const auto page = comparison_html({{"</script><b>", small_run()}, {"2", small_run()}});
    for (const auto* harmful :
         {"<script>alert", "</script><b>", "http://", "https://", "src=", "<link", "url("})
        EXPECT_THAT(page, Not(HasSubstr(harmful)));
    EXPECT_THAT(page, HasSubstr("<th><svg class=\"key\" viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path "
                                "class=\"line c0\" d=\"M0 4H22\"/></svg>&lt;/script&gt;&lt;b&gt;</th>"));
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Comparison, HoldsWhatItShowsAsJson) {
    const auto page = comparison_html(two_runs());
    const std::string head = "<script type=\"application/json\" id=\"runs\">";
    const auto begin = page.find(head) + head.size();
    const auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    ASSERT_EQ(data.size(), 2U);
    EXPECT_EQ(data[1]["name"], "sgd <1>");
    const auto run = parse_run(data[1]["run"].dump());
    ASSERT_TRUE(run);
    EXPECT_EQ(run->rows, two_runs()[1].run.rows);
    EXPECT_EQ(run->outcome, "failed");
}

TEST(Comparison, RunsWithoutCurvesHaveATable) {
    auto runs = two_runs();
    for (auto& [name, run] : runs) run.rows.clear();
    const auto page = comparison_html(runs);
    EXPECT_THAT(page, HasSubstr("<td>time</td>"));
    EXPECT_THAT(page, Not(HasSubstr("id=\"curves\"")));
}

}  // namespace
}  // namespace dtrain::metrics
