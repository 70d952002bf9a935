// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain {

/// Variable of Open MPI: the family of addresses that its ranks leave alone, 4 or 6.
inline constexpr const char* tcp_family_variable = "OMPI_MCA_btl_tcp_disable_family";

/// What a rank's Open MPI is told of its machine before it starts: mtl_selection(), single_copy_mechanism(),
/// and where all ranks are on one node, which exchange by memory, no IPv6: Open MPI 5.0 warns of addresses
/// that it cannot pair (its issue 14079). Without what `environment` has already.
Environment mpi_start_variables(const Environment& environment);

}  // namespace dtrain
