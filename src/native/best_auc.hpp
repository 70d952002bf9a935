// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace dtrain::native {

/// The best AUC that a model can reach on a log generated from known probabilities: "best_auc" in the JSON
/// file named like the log with ".json" appended, as examples/make_clicks.py writes it. Nothing if there is
/// no such file.
/// @throws UsageError naming the file if it contains no such number in 0..1
std::optional<double> best_auc_of(const std::filesystem::path& log);

}  // namespace dtrain::native
