// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: what must and must not stand in a page. tests/jobs/test_metrics.py parses pages of real jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/page.hpp"
#include "metrics/small_run.hpp"

namespace dtrain::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, EveryTextIsEscaped) {
    const auto page = page_html(small_run());
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, Not(HasSubstr("<b>slow</b>")));
    EXPECT_THAT(page, HasSubstr("<h1>digits &lt;script&gt;alert(1)&lt;/script&gt;</h1>"));
}

TEST(Page, AsksNobodyForAnything) {
    const auto page = page_html(small_run());
    for (const auto* asks : {"http://", "https://", "src=", "<link", "@import", "url("})
        EXPECT_THAT(page, Not(HasSubstr(asks))) << asks;
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Page, TheFailureStandsBeforeAllElse) {
    const auto page = page_html(small_run());
    const auto failure = page.find("<h2>rank 1 on node2: killed by SIGKILL</h2>");
    ASSERT_NE(failure, std::string::npos);
    EXPECT_LT(failure, page.find("id=\"curves\""));
    EXPECT_LT(page.find("out of memory?"), page.find("id=\"curves\""));
}

TEST(Page, HasOnlySectionsOfWhatThereIs) {
    const auto page = page_html(metrics::Run{.title = "empty"});
    for (const auto* section : {"curves", "phases", "gpus", "timeline", "placement", "events", "failure"})
        EXPECT_THAT(page, Not(HasSubstr(std::string("id=\"") + section + "\""))) << section;
    const auto whole = page_html(small_run());
    for (const auto* section : {"curves", "phases", "gpus", "timeline", "placement", "events", "failure"})
        EXPECT_THAT(whole, HasSubstr(std::string("id=\"") + section + "\"")) << section;
}

TEST(Page, HasARowOfGpusForEachRankThatTells) {
    EXPECT_THAT(page_html(small_run()),
                HasSubstr("<tr><td>0</td><td>97.2</td><td>651.5</td><td>3.5</td><td>91.0</td></tr>"
                          "<tr><td>1</td><td>-</td><td>70.0</td><td>-</td><td>-</td></tr>"));
}

TEST(Page, NamesTheSlowestRankOfEpochs) {
    const auto page = page_html(small_run());
    EXPECT_THAT(page,
                HasSubstr("In 3 epochs others waited for a rank: in 2 for rank 1 on node2, in 1 for rank 0 "
                          "on node1."));
    EXPECT_THAT(page, HasSubstr("<tr><td>3</td><td>1</td><td>1.500</td></tr>"));
    auto run = small_run();
    run.slow_epochs.clear();
    EXPECT_THAT(page_html(run), Not(HasSubstr("the slowest rank of each epoch")));
}

TEST(Page, RatesHaveAChartBeforeThroughput) {
    const auto charts = charts_of({{"step", 0, 0, 1, 1, {{"samples_per_second", 7}, {"learning_rate", 0.5}}},
                                   {"epoch", 0, 0, 1, 2, {{"train_loss", 1}, {"learning_rate", 0.25}}}});
    ASSERT_EQ(charts.size(), 3U);
    EXPECT_EQ(charts[1].title, "Learning rate");
    ASSERT_EQ(charts[1].lines.size(), 2U);
    EXPECT_EQ(charts[1].lines[0].name, "within an epoch");
    EXPECT_EQ(charts[1].lines[1].name, "whole epoch");
    EXPECT_EQ(charts[2].title, "Throughput");
}

TEST(Page, GpusHaveChartsBehindThroughput) {
    const auto charts = charts_of({{"epoch",
                                    0,
                                    0,
                                    1,
                                    1,
                                    {{"gpu_watts", 3},
                                     {"gpu_utilization", 7},
                                     {"samples_per_second", 7},
                                     {"grip", 1},
                                     {"train_loss", 1}}}});
    std::vector<std::string> titles;
    for (const auto& chart : charts) titles.push_back(chart.title);
    EXPECT_THAT(titles, testing::ElementsAre("Loss", "Grip", "Throughput", "GPU utilization", "GPU power"));
}

TEST(Page, ClaimsNoTimesThatNobodyKnows) {
    auto run = small_run();
    const auto shown = page_html(run);
    for (const auto* known : {"<th>communicate [s]</th>", "<th>wait [s]</th>", "Wait: for slower ranks"})
        EXPECT_THAT(shown, HasSubstr(known));
    run.times[1].communicate = run.times[1].wait = std::nullopt;
    EXPECT_THAT(
        page_html(run),
        HasSubstr("<tr><td>1</td><td>5.000</td><td>-</td><td>-</td><td>2.000</td><td>1.000</td></tr>"));
    run.times[0].communicate = run.times[0].wait = std::nullopt;
    const auto page = page_html(run);
    for (const auto* unknown : {"communicate [s]", "wait [s]", "Wait: for slower ranks", "was the slowest"})
        EXPECT_THAT(page, Not(HasSubstr(unknown)));
    EXPECT_THAT(page, HasSubstr("Compute: also sums over ranks"));
    EXPECT_THAT(page, HasSubstr("\"communicate\":null"));
    const std::string head = "id=\"run\">";
    const auto begin = page.find(head) + head.size();
    EXPECT_EQ(parse_run(page.substr(begin, page.find("</script>", begin) - begin)), run);
}

TEST(Page, SaysWhereWaitingIsWhenNobodyKnowsHowLong) {
    auto run = small_run();
    for (auto& times : run.times) times.wait = std::nullopt;
    const auto page = page_html(run);
    EXPECT_THAT(page, HasSubstr("<th>communicate [s]</th><th>input [s]</th>"));
    EXPECT_THAT(page, HasSubstr("Communicate: also waiting"));
    for (const auto* unknown :
         {"wait [s]", "Wait: for slower ranks", "Compute: also sums", "was the slowest"})
        EXPECT_THAT(page, Not(HasSubstr(unknown)));
}

TEST(Page, HoldsWhatItShowsAsJson) {
    const auto page = page_html(small_run());
    const std::string head = "<script type=\"application/json\" id=\"run\">";
    const auto begin = page.find(head) + head.size();
    EXPECT_EQ(parse_run(page.substr(begin, page.find("</script>", begin) - begin)), small_run());
}

TEST(Page, ChartsAreGroupedByWhatIsMeasured) {
    const auto charts =
        charts_of({{"step", 0, 0, 1, 1, {{"loss", 3}, {"samples_per_second", 7}}},
                   {"epoch",
                    0,
                    0,
                    1,
                    2,
                    {{"train_loss", 2}, {"test_loss", 1}, {"test_auc", 0.5}, {"samples_per_second", 8}}}});
    ASSERT_EQ(charts.size(), 3U);
    EXPECT_EQ(charts[0].title, "Loss");
    EXPECT_EQ(charts[0].lines.size(), 3U);
    EXPECT_EQ(charts[0].lines[2].name, "test");
    EXPECT_THAT(charts[0].lines[2].sources, testing::ElementsAre("epoch test_loss"));
    EXPECT_EQ(charts[0].lines[2].points.front().x, 2);
    EXPECT_EQ(charts[0].lines[2].points.front().y, 1);
    EXPECT_EQ(charts[1].title, "AUC");
    EXPECT_EQ(charts[2].title, "Throughput");
    EXPECT_EQ(charts[2].y_name, "samples/s");
}

TEST(Page, OfVeryManyRanksItShowsSomeAndThoseThatFailed) {
    metrics::Run run{.title = "large", .seconds = 10};
    for (int rank = 0; rank < 5000; ++rank)
        run.spans.push_back({rank, 1, 0, 9, rank == 4711 ? "failed" : "done", "end"});
    const auto page = page_html(run);
    EXPECT_THAT(page, HasSubstr(">rank 4711<"));
    EXPECT_THAT(page, HasSubstr("128 of 5000 ranks"));
    EXPECT_THAT(page, Not(HasSubstr(">rank 4000<")));
}

}  // namespace
}  // namespace dtrain::metrics
