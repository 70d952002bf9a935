// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace dtrain::launch {

/// The choices of --engine: "auto", then the names of all launch backends. Defined by their registry.
std::vector<std::string_view> backend_choices();

}  // namespace dtrain::launch
