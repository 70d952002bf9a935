// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain {

/// What a rank's Open MPI is told of its machine before it starts: mtl_selection(), single_copy_mechanism().
/// Without what `environment` has already.
Environment mpi_start_variables(const Environment& environment);

}  // namespace dtrain
