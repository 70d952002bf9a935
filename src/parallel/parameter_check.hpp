// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/data_parallel.hpp>

namespace dtrain::parallel {

/// @throws UsageError on all ranks with the first error in the parameters of any rank, or with the first
/// parameter that is not the same on all. Collective.
void check_parameters(const Communicator& communicator, const std::vector<ParameterBuffers>& parameters);

}  // namespace dtrain::parallel
