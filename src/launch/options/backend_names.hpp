// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace dtrain::launch {

/// The choices of --engine: "auto", then the names of all launch backends in the order of the alphabet.
std::vector<std::string_view> backend_choices();

/// @param name must outlive all uses
void add_backend_name(std::string_view name);

}  // namespace dtrain::launch
