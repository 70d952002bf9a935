// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/transpiler.hpp>

namespace dtrain::transpiler {

/// Whether this mode works without servers. @throws UsageError if there is no such mode
bool is_collective(const std::string& mode);

/// The programs for a collective mode.
struct Collective {
    /// @throws UsageError if the options are invalid in this mode; ProgramError as data_parallel() or
    /// with_local_sgd()
    Collective(const Program& of, const DistributeTranspilerConfig& config, const TranspileOptions& options);

    int trainers;
    Program program;
};

}  // namespace dtrain::transpiler
