// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ps/table/table_options.hpp"

namespace dtrain::ps {

/// {"name": "clicks", "width": 16, "seed": 3, "initializer": {"kind": "uniform", "bound": 0.05},
///  "optimizer": {"kind": "adam", "learning_rate": 0.001, ...}, ...}: all but the number of arenas, which is
/// a matter of the machine. Numbers come back exactly.
nlohmann::json as_json(const TableOptions& options);

/// @throws nlohmann::json::exception when it is none; the options are not checked.
TableOptions options_from(const nlohmann::json& value);

/// "width 16, adam, with statistics": what rows of one table must have in common with those of another to be
/// put into it.
std::string layout_of(const TableOptions& options);

/// What else is not the same, each as "seed: 3 then, 4 now".
std::vector<std::string> differences(const TableOptions& then, const TableOptions& now);

}  // namespace dtrain::ps
