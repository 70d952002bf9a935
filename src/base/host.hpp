// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain {

/// What this machine calls itself.
std::string host_name();

}  // namespace dtrain
