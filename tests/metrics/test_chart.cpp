// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: numbers written by hand; what a picture must never hold.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/chart.hpp"

namespace dtrain::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Chart, AxesHaveRoundNumbers) {
    EXPECT_THAT(round_numbers(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_THAT(round_numbers(3, 97, 5), ElementsAre(20, 40, 60, 80));
    EXPECT_THAT(round_numbers(-1, 1, 4), ElementsAre(-1, -0.5, 0, 0.5, 1));
    EXPECT_THAT(round_numbers(5, 5, 5), ElementsAre());
    EXPECT_THAT(round_numbers(0, std::numeric_limits<double>::infinity(), 5), ElementsAre());
}

TEST(Chart, NamesAxesAndLines) {
    const auto svg = chart_svg({"Loss", "step", "loss", {{"test <1>", {{0, 1}, {10, 0.25}}}}});
    EXPECT_THAT(svg, HasSubstr(">step</text>"));
    EXPECT_THAT(svg, HasSubstr(">loss</text>"));
    EXPECT_THAT(svg, HasSubstr("test &lt;1&gt; <b>0.25</b>"));
}

TEST(Chart, WhatIsNoNumberLeavesAGap) {
    const auto nothing = std::numeric_limits<double>::quiet_NaN();
    const auto svg = chart_svg({"", "", "", {{"a", {{0, 1}, {1, 2}, {2, nothing}, {3, 3}, {4, 4}}}}});
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, testing::ContainsRegex("d=\"M[0-9. ]+L[0-9. ]+M[0-9. ]+L[0-9. ]+\""));
}

TEST(Chart, ALineWithoutANumberIsNoLine) {
    const auto nothing = std::numeric_limits<double>::quiet_NaN();
    const auto svg = chart_svg({"", "", "", {{"a", {{0, nothing}}}, {"b", {}}}});
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_THAT(svg, HasSubstr("a <b>-</b>"));
}

TEST(Chart, ManyPointsKeepTheirExtremes) {
    ChartLine line{"a", {}};
    for (int x = 0; x < 100'000; ++x)
        line.points.push_back({static_cast<double>(x), x == 54'321 ? 9.0 : 1.0});
    const auto svg = chart_svg({"", "", "", {line}});
    EXPECT_LT(svg.size(), 20'000U);
    // The axis goes from 0 to 9 and 6% of 8 more, on 178 units above 190: 190 - 178 * 9 / 9.48.
    EXPECT_NE(svg.find(" 21.0L"), std::string::npos);
}

TEST(Chart, ManyPointsKeepTheirExtremesBesideWhatIsNoNumber) {
    ChartLine line{"a", {}};
    for (int x = 0; x < 100'000; ++x)
        line.points.push_back({static_cast<double>(x), x == 54'321  ? 9.0
                                                       : x % 2 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                                    : 1.0});
    const auto svg = chart_svg({"", "", "", {line}});
    EXPECT_NE(svg.find(" 21.0L"), std::string::npos);
    EXPECT_THAT(svg, testing::ContainsRegex("d=\"M[0-9. L]+\""));  // without a gap
}

TEST(Chart, AStartFromAnEarlierStepLeavesAGap) {
    const auto svg = chart_svg({"", "", "", {{"a", {{1, 1}, {2, 2}, {3, 3}, {2, 2}, {3, 1}}}}});
    EXPECT_THAT(svg, testing::ContainsRegex("d=\"M[0-9. ]+L[0-9. ]+L[0-9. ]+M[0-9. ]+L[0-9. ]+\""));
}

TEST(Chart, NumbersAtAxesAreTheirPlaces) {
    const auto svg = chart_svg({"", "", "", {{"a", {{10'000, -2.5e-5}, {10'100, 2.5e-5}}}}});
    for (const auto* text : {">10k<", ">10.02k<", ">10.08k<", ">10.1k<", ">-2e-05<", ">0<"})
        EXPECT_THAT(svg, HasSubstr(text)) << text;
    EXPECT_THAT(svg, Not(HasSubstr(">-0<")));
}

TEST(Chart, NamesOfLinesSayWhereTheDataAre) {
    const auto svg = chart_svg({"", "", "", {{"a", {{0, 1}}, {"epoch train_loss", "epoch \"x\""}}}});
    EXPECT_THAT(
        svg,
        HasSubstr("data-sources=\"[&quot;epoch train_loss&quot;,&quot;epoch \\&quot;x\\&quot;&quot;]\""));
}

TEST(Chart, ATableHasEveryValueOfEveryLine) {
    const auto table = chart_table({"", "step", "", {{"a", {{1, 0.5}, {2, 0.25}}}, {"b", {{2, 7}}}}});
    EXPECT_EQ(table,
              "<table><thead><tr><th>step</th><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>0.5</"
              "td><td></td></tr><tr><td>2</td><td>0.25</td><td>7</td></tr></tbody></table>");
}

}  // namespace
}  // namespace dtrain::metrics
