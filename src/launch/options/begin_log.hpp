// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/options/options.hpp"

namespace dtrain::launch {

/// Makes the launcher log as the options say, and prints the notices of parsing first.
void begin_log(const ParsedOptions& parsed);

}  // namespace dtrain::launch
