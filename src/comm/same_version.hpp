// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

namespace dtrain::comm {

/// A rank's.
struct HostVersion {
    std::string host;
    std::string version;
};

/// What people are told when the ranks, in their order, have not all one version; else nothing. Pure.
/// @param of what the versions are
std::optional<std::string> version_difference(const std::vector<HostVersion>& ranks,
                                              std::string_view of = "dtrain");

/// What ranks of two versions say to each other by shared memory and messages need not mean the same.
/// Collective, by MPI's own calls alone. @throws VersionMismatch on all ranks
void check_same_version(MPI_Comm all, const std::string& own);

}  // namespace dtrain::comm
