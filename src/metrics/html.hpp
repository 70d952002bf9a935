// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Formats texts and numbers for an HTML page. Pure.
namespace dtrain::metrics {

/// Escapes a text as the content of an element or of a quoted attribute. Control characters become blanks.
std::string escaped(std::string_view text);

/// Escapes JSON as the content of a script element, such that no text in it ends the element.
std::string for_script(std::string json);

/// Four significant digits: "0.1234", "12,340", "1.2e-05"; "-" for NaN.
std::string number_text(double value);

/// "0.25 s", "12.3 s", "4 min 05 s", "2 h 03 min".
std::string duration_text(double seconds);

/// "2026-11-22 12:30:26 UTC".
std::string moment_text(double since_1970);

}  // namespace dtrain::metrics
