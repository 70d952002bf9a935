// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dtrain::trace_mpi {

/// Names of communicators, windows and files. All ranks of one make the same name without asking each other:
/// from what it was made of, and how many were made of that before.

/// "MPI_COMM_WORLD/2"; of one of several parts "MPI_COMM_WORLD/2@4", whose lowest rank of the job is 4.
/// @param kind "" of a communicator, else "window " or "file "
std::string child_name(std::string_view parent, std::string_view kind, std::uint32_t number, int parent_size,
                       std::span<const int> job_ranks);

/// "0-3,8"; of many ranges the first ones, and a checksum of all.
std::string ranks_text(std::span<const int> ranks);

/// "actors (MPI_COMM_WORLD/2@4)": names that programs give need not differ.
std::string given_name(std::string_view given, std::string_view own);

}  // namespace dtrain::trace_mpi
