// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace dtrain::native {

/// The best AUC that a model can reach on a log that was made from known chances: "best_auc" in the JSON file
/// of the log's name with ".json" behind it, as examples/make_clicks.py writes it. Nothing when there is no
/// such file. @throws UsageError naming the file when it has no such number in 0..1
std::optional<double> best_auc_of(const std::filesystem::path& log);

}  // namespace dtrain::native
