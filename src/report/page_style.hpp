// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dtrain::report {

/// Colours tell apart for people with any kind of sight (Okabe and Ito, 2008), in light and in dark.
extern const std::string_view page_style;

/// What a pointer over a chart shows. The page is whole without it.
extern const std::string_view page_script;

}  // namespace dtrain::report
