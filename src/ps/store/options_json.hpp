// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ps/table/table_options.hpp"

namespace dtrain::ps {

/// {"name": "clicks", "width": 16, "seed": 3, "initializer": {"kind": "uniform", "bound": 0.05}, "optimizer":
/// {"kind": "adam", "learning_rate": 0.001, ...}, ...}: all options except the number of arenas, which
/// depends on the machine. Numbers round-trip exactly.
nlohmann::json as_json(const TableOptions& options);

/// @throws nlohmann::json::exception if it does not describe options; their values are not validated
TableOptions options_from(const nlohmann::json& value);

/// "width 16, adam, with statistics": what two tables must have in common for one to load rows of the other.
std::string layout_of(const TableOptions& options);

/// The other differences, each as "seed: 3 then, 4 now".
std::vector<std::string> differences(const TableOptions& then, const TableOptions& now);

}  // namespace dtrain::ps
