// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dtrain::metrics {

/// Style sheet, for light and dark mode. People with any type of colour vision can distinguish the colours
/// (Okabe and Ito, 2008).
extern const std::string_view page_style;

/// Shows values at the mouse pointer over a chart. The page is complete without it.
extern const std::string_view page_script;

}  // namespace dtrain::metrics
