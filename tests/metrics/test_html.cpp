// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: texts written by hand.
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "metrics/html.hpp"

namespace dtrain::metrics {
namespace {

TEST(Html, TextsAreNoMarkup) {
    EXPECT_EQ(escaped("<script>a && \"b\" 'c'</script>"),
              "&lt;script&gt;a &amp;&amp; &quot;b&quot; &#39;c&#39;&lt;/script&gt;");
    EXPECT_EQ(escaped("a\nb\tc\x1b[31m\x07"), "a\nb\tc [31m ");
    EXPECT_EQ(escaped("Grüße"), "Grüße");
}

TEST(Html, JsonCannotEndItsElement) {
    const std::string text = "</script><!-- <script>";
    const auto json = for_script(nlohmann::json(text).dump());
    EXPECT_EQ(json.find('<'), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text);
}

TEST(Html, NumbersAreReadable) {
    EXPECT_EQ(number_text(0.123456), "0.1235");
    EXPECT_EQ(number_text(12), "12");
    EXPECT_EQ(number_text(-1234567), "-1,234,567");
    EXPECT_EQ(number_text(12345.6), "12,346");
    EXPECT_EQ(number_text(1.234e-7), "1.234e-07");
    EXPECT_EQ(number_text(1e300), "1e+300");
    EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "-");
}

TEST(Html, TimesAreReadable) {
    EXPECT_EQ(duration_text(0.256), "0.26 s");
    EXPECT_EQ(duration_text(12.34), "12.3 s");
    EXPECT_EQ(duration_text(245), "4 min 05 s");
    EXPECT_EQ(duration_text(7380), "2 h 03 min");
    EXPECT_EQ(duration_text(-1), "-");
    EXPECT_EQ(moment_text(1700000000), "2023-11-14 22:13:20 UTC");
}

}  // namespace
}  // namespace dtrain::metrics
