// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/transpiler.hpp>

namespace dtrain::transpiler {

/// Whether trainers of this mode do without servers. @throws UsageError when there is no such mode
bool is_collective(const std::string& mode);

/// What a program becomes then.
struct Collective {
    /// @throws UsageError when the options are none of this mode; ProgramError as data_parallel() or
    /// with_local_sgd()
    Collective(const Program& of, const DistributeTranspilerConfig& config, const TranspileOptions& options);

    int trainers;
    Program program;
};

}  // namespace dtrain::transpiler
