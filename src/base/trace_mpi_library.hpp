// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/environment.hpp>

namespace dtrain {

/// The library that records the calls of MPI of a program that it is loaded into: the file that
/// DTRAIN_TRACE_MPI_MODULE names, else libdtrain_trace_mpi.so in the folder of dtrain's modules.
/// @throws UsageError if it is not there, or LD_PRELOAD cannot name it
std::string trace_mpi_library(const Environment& environment);

/// Loads a library before all others into the programs of an environment.
void preload_first(Environment& environment, const std::string& library);

}  // namespace dtrain
