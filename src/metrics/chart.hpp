// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dtrain::metrics {

struct ChartPoint {
    double x = 0;
    double y = 0;
};

/// A line of a chart. Points that are not finite leave a gap, and so does an x smaller than the previous one.
struct ChartLine {
    std::string name;
    std::vector<ChartPoint> points;
    std::vector<std::string> sources = {};  ///< row kind and column in the page's data: "epoch train_loss"
    /// One of several runs that are compared: it has the same colour in all charts.
    std::optional<std::size_t> run = {};
};

/// How the n-th line is drawn, as a short piece of it (SVG) for legends.
std::string line_key(std::size_t number);

struct Chart {
    std::string title;
    std::string x_name;  ///< including its unit
    std::string y_name;
    std::vector<ChartLine> lines;
    std::string part = {};  ///< what of it, beside the title: "test"
};

/// Round numbers that divide [low, high], at most `max`.
std::vector<double> round_numbers(double low, double high, int max);

/// The chart as SVG, with axes, a legend and what is shown at the mouse pointer; the colours are those of the
/// page's style. Lines with very many points are drawn with fewer, keeping the extremes.
std::string chart_svg(const Chart& chart);

/// All values as a table, for people who cannot see the chart.
std::string chart_table(const Chart& chart);

}  // namespace dtrain::metrics
