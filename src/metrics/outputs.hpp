// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dtrain::metrics {

/// Where the metrics of a training are written.
struct Outputs {
    std::optional<std::filesystem::path> metrics;      ///< file to which JSON lines are appended
    std::optional<std::filesystem::path> tensorboard;  ///< folder
    std::optional<std::filesystem::path> page;         ///< HTML file
    std::optional<std::filesystem::path> record;       ///< file with run_json(), for dtrain-launch's page

    bool any() const { return metrics || tensorboard || page || record; }
};

/// Checks before hours of training that the outputs can be written. Creates TensorBoard's folder.
/// @throws UsageError naming the option or key, the path and the reason
void check_outputs(const Outputs& outputs);

/// @param option the option with the value `file`, for the message
/// @throws UsageError if `file` cannot be replaced
void check_may_replace(const std::string& option, const std::string& file);

}  // namespace dtrain::metrics
