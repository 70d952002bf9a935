// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>

#include <dtrain/environment.hpp>

/// Removes what killed jobs left on a node.
namespace dtrain {

/// The folders to search.
struct LeftoverFolders {
    std::filesystem::path temporary;
    std::filesystem::path shared_memory = "/dev/shm";
    std::string host;  ///< this machine's host name
};

/// The folders of this machine.
/// @throws UsageError like temporary_directory()
LeftoverFolders leftover_folders(const Environment& environment);

/// Removes what dead jobs of this user have left: shared memory of Open MPI and of dtrain, session folders of
/// Open MPI, folders of launchers. Keeps what any process, also of another container, has open, mapped or
/// locked, and files for which the system does not tell that.
/// @returns the number of removed files and folders
int remove_leftovers(const LeftoverFolders& folders);

/// Removes the session folder of an mpirun of Open MPI 4.1 or 5.0 that has ended, with its content.
/// @param mpirun pid of this user's mpirun; nothing is removed while it lives
void remove_session(const LeftoverFolders& folders, pid_t mpirun);

/// Whether a process has a file of this user open or mapped, or that is unknown. Does not follow links.
bool is_in_use(const std::filesystem::path& file);

}  // namespace dtrain
