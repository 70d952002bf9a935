// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/parameter_servers.hpp>
#include <dtrain/program.hpp>
#include <dtrain/transpiler.hpp>

namespace dtrain::ps {

/// Splits a training program among the ranks of a job. @throws as DistributeTranspiler::transpile()
DistributeTranspiler split(const ParameterServers& settings, const ServerRanks& ranks,
                           const Program& program);

/// What servers and trainers must agree on. @param threads see ServerJobOptions
ServerJobOptions job_options(const ParameterServers& settings, std::uint64_t seed, int threads);

}  // namespace dtrain::ps
