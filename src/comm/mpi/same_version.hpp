// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

namespace dtrain::comm {

/// Host and version of a rank.
struct HostVersion {
    std::string host;
    std::string version;
};

/// The message for users if not all ranks, in rank order, have the same version; else nothing. Pure.
/// @param of what the versions are of
std::optional<std::string> version_difference(const std::vector<HostVersion>& ranks,
                                              std::string_view of = "dtrain");

/// Checks that all ranks have the same version: data in shared memory and messages may mean different things
/// in different versions. Collective, using only plain MPI calls. @throws VersionMismatch on all ranks
void check_same_version(MPI_Comm all, const std::string& own);

}  // namespace dtrain::comm
