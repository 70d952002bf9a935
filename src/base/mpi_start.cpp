// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/mpi_start.hpp"

#include "base/fast_network.hpp"
#include "base/single_copy.hpp"

namespace dtrain {
namespace {

bool all_ranks_are_here(const Environment& environment) {
    const auto here = environment.get_int("OMPI_COMM_WORLD_LOCAL_SIZE");
    return here && here == environment.get_int("OMPI_COMM_WORLD_SIZE");
}

}  // namespace

Environment mpi_start_variables(const Environment& environment) {
    Environment variables;
    if (const auto mechanism = single_copy_mechanism(environment, may_read_processes()))
        variables.set(single_copy_variable, *mechanism);
    if (const auto mtls = mtl_selection(environment, may_have_fast_network()))
        variables.set(mtl_variable, *mtls);
    if (all_ranks_are_here(environment) && !environment.has(tcp_family_variable))
        variables.set(tcp_family_variable, "6");
    return variables;
}

}  // namespace dtrain
