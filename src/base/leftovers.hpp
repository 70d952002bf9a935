// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>

#include <dtrain/environment.hpp>

/// What jobs that were killed leave on a node.
namespace dtrain {

/// Where it is looked for.
struct LeftoverPlaces {
    std::filesystem::path temporary;
    std::filesystem::path shared_memory = "/dev/shm";
    std::string host;  ///< as this machine calls itself
};

/// The places of this machine. @throws UsageError as temporary_place() does
LeftoverPlaces leftover_places(const Environment& environment);

/// Removes what dead jobs of this user have left: shared memory of Open MPI and of dtrain, session folders of
/// Open MPI, folders of launchers. What any process has open, maps or has locked stays, also what a process
/// of another container does; so does what the system does not tell that of.
/// @returns how many files and folders
int remove_leftovers(const LeftoverPlaces& places);

/// Removes the session folder of an mpirun of Open MPI 4.1 that has ended, whatever is left of it.
/// @param mpirun this user's; nothing is removed while it lives
void remove_session(const LeftoverPlaces& places, pid_t mpirun);

/// Whether a process has a file of this user's open or mapped, or that cannot be told. No link is followed.
bool is_in_use(const std::filesystem::path& file);

}  // namespace dtrain
