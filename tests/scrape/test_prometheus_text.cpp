// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: texts written by hand after Prometheus' description of its text format
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#include <limits>
#include <locale>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scrape/prometheus_module.hpp"

namespace dtrain::scrape {
namespace {

std::string text_of(const std::vector<Family>& families) {
    return prometheus_module().text(families);
}

TEST(PrometheusText, HasFamiliesWithTheirSamples) {
    Family rows{.name = "rows", .help = "Rows of a table.", .samples = {}};
    rows.add({{"server", "0"}, {"table", "a\"b\\c\nd\u00e9"}}, 1234567);
    rows.add({}, -0.00025);
    Family steps{.name = "steps_total", .type = Family::Type::counter, .help = "Steps.", .samples = {}};
    steps.add({{"server", "0"}}, 3);
    EXPECT_EQ(text_of({rows, steps}),
              "# HELP rows Rows of a table.\n# TYPE rows gauge\n"
              "rows{server=\"0\",table=\"a\\\"b\\\\c\\nd\u00e9\"} 1234567\n"
              "rows -0.00025\n"
              "# HELP steps_total Steps.\n# TYPE steps_total counter\n"
              "steps_total{server=\"0\"} 3\n");
    EXPECT_EQ(text_of({}), "");
}

TEST(PrometheusText, HasHistogramsUpToInfinity) {
    Family family{.name = "t_seconds", .type = Family::Type::histogram, .help = "Time.", .samples = {}};
    family.add({{"server", "1"}}, Histogram{.count = 7, .sum = 1.5, .buckets = {{0.001, 2}, {0.25, 6}}});
    EXPECT_EQ(text_of({family}),
              "# HELP t_seconds Time.\n# TYPE t_seconds histogram\n"
              "t_seconds_count{server=\"1\"} 7\n"
              "t_seconds_sum{server=\"1\"} 1.5\n"
              "t_seconds_bucket{server=\"1\",le=\"0.001\"} 2\n"
              "t_seconds_bucket{server=\"1\",le=\"0.25\"} 6\n"
              "t_seconds_bucket{server=\"1\",le=\"+Inf\"} 7\n");
}

/// The value as it stands in the text, which Prometheus reads with Go's ParseFloat.
std::string number_text(double value) {
    Family family{.name = "x", .samples = {}};
    family.add({}, value);
    const auto text = text_of({family});
    const auto begin = text.rfind(' ') + 1;
    return text.substr(begin, text.size() - begin - 1);
}

TEST(PrometheusText, HasWholeNumbersWhole) {
    EXPECT_EQ(number_text(0), "0");
    EXPECT_EQ(number_text(1e6), "1000000");
    EXPECT_EQ(number_text(9007199254740991), "9007199254740991");  // the last below which none is left out
    EXPECT_EQ(number_text(1795572217.465486), "1795572217.465486");
}

TEST(PrometheusText, HasWhatIsNoFiniteNumber) {
    EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "+Inf");
    EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-Inf");
    EXPECT_THAT(number_text(std::numeric_limits<double>::quiet_NaN()), testing::AnyOf("NaN", "Nan"))
        << "ParseFloat takes both";
}

TEST(PrometheusText, IsTheSameInEveryCountry) {
    struct Decimal : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    const auto before = std::locale::global(std::locale(std::locale(), new Decimal));
    EXPECT_EQ(number_text(1234567.5), "1234567.5");
    std::locale::global(before);
}

}  // namespace
}  // namespace dtrain::scrape
