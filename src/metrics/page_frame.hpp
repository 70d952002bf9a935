// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/chart.hpp"

/// What the page of a run and the page that compares runs have in common. All of it is pure.
namespace dtrain::metrics {

/// From the first line to the beginning of what is seen. The page may load nothing.
std::string page_begin(std::string_view title);

/// Charts with what people do with them: zoom, smooth, hide lines. "" when there are none.
/// @param legend of all charts, as HTML
std::string curve_section(const std::vector<Chart>& charts, std::string_view legend = "");

/// How the script element with this data begins.
std::string data_begin(std::string_view id);
inline constexpr std::string_view data_end = "</script>";

/// The end of the page, with its data in a script element "run" or "runs", where page_script looks for them.
std::string page_end(std::string_view id, std::string json);

}  // namespace dtrain::metrics
