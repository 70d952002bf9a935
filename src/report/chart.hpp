// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dtrain::report {

struct ChartPoint {
    double x = 0;
    double y = 0;
};

/// A line of a chart. Points that are no finite numbers leave a gap, and so does an x smaller than the one
/// before.
struct ChartLine {
    std::string name;
    std::vector<ChartPoint> points;
    std::vector<std::string> sources = {};  ///< where the page's data has them: "epoch train_loss"
    std::optional<std::size_t> run = {};    ///< of several that are compared; it has one colour in all charts
};

/// How a line is drawn, of so many ways.
inline constexpr std::size_t chart_colours = 8;

struct Chart {
    std::string title;
    std::string x_name;  ///< with its unit
    std::string y_name;
    std::vector<ChartLine> lines;
    std::string part = {};  ///< what of it, beside the title: "test"
};

/// Round numbers that divide [low, high], `most` at most.
std::vector<double> round_numbers(double low, double high, int most);

/// A picture (SVG) with axes, a legend and what a pointer shows; the colours are those of the page's style.
/// Lines of very many points are drawn with fewer: extremes stay.
std::string chart_svg(const Chart& chart);

/// All values, for those who cannot see the picture.
std::string chart_table(const Chart& chart);

}  // namespace dtrain::report
