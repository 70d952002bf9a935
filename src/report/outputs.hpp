// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dtrain::report {

/// Where somebody wants to see what a training does.
struct Outputs {
    std::optional<std::filesystem::path> metrics;      ///< file of JSON lines, to which is added
    std::optional<std::filesystem::path> tensorboard;  ///< folder
    std::optional<std::filesystem::path> page;         ///< file of HTML
    std::optional<std::filesystem::path> record;       ///< file of run_json(), for dtrain-launch's page

    bool any() const { return metrics || tensorboard || page || record; }
};

/// Finds out before hours of training that nothing can be written there. Makes the folder of TensorBoard.
/// @throws UsageError naming the option or key, the path and why
void check_outputs(const Outputs& outputs);

/// @param option whose value `file` is, for the message
/// @throws UsageError when no file can be put there in place of another one
void check_may_replace(const std::string& option, const std::string& file);

}  // namespace dtrain::report
